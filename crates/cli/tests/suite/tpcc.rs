//! A workload derived from TPC-C by direct clients: the load, and the conditions after it.

use std::rc::Rc;
use std::time::Duration;

use dunlin_tpcc::conditions::check;
use dunlin_tpcc::deferred::queues;
use dunlin_tpcc::dunlin::Dunlin;
use dunlin_tpcc::input::{Draw, Mix};
use dunlin_tpcc::load::{Store, load};
use dunlin_tpcc::memory;
use dunlin_tpcc::population::Population;
use dunlin_tpcc::random::Random;
use dunlin_tpcc::scale::Scale;
use dunlin_tpcc::tables::Dump;
use dunlin_tpcc::target::Fault;
use dunlin_tpcc::terminal::{Floor, Waits, deliver, work};
use tokio::task::spawn_local;
use tokio::time::sleep;

use crate::harness::direct::local;
use crate::harness::up::Up;

use super::txn::keyspace;

const TERMINALS: u32 = 4;
const LASTS: Duration = Duration::from_secs(5);

#[test]
fn all_conditions_hold_after_terminals_have_worked() {
    let up = Up::nodes(1);
    let made = keyspace(&up, "tpcc", &["--mode=transactional", "--replicas=1"]);
    assert!(made.status.success(), "{made:?}");
    let population = Population {
        scale: Scale::TENTH,
        seed: 5,
        date_ms: 1_000,
    };
    local(async {
        let store = Dunlin::new(&up.url(0, ""), true).unwrap();
        let loaded = load(&store, (1, population), |_, _| ()).await.unwrap();
        assert_eq!(store.loaded().await.unwrap(), Some(loaded));
        let rows = store.dump(1).await.unwrap();
        let differences = rows.differences(&memory::loaded(1, population));
        assert_eq!(differences, Vec::<String>::new());
        let other = Population {
            seed: 6,
            ..population
        };
        let refused = load(&store, (1, other), |_, _| ()).await;
        assert!(matches!(refused, Err(Fault::Failed(_))), "{refused:?}");

        let (floor, mut working) = (Rc::new(Floor::default()), Vec::new());
        let constants = loaded.constants().of_run(&mut Random::new(9));
        let (senders, mut receivers) = queues(1);
        let (target, queue) = (store.clone(), receivers.pop().unwrap());
        let at = floor.clone();
        working.push(spawn_local(async move {
            deliver(&target, queue, at, || 3_000).await
        }));
        for terminal in 0..TERMINALS {
            let all = (1, population.scale);
            let draw = Draw::new(Mix::Full, all, constants, (9, 9, terminal));
            let (store, floor) = (store.clone(), (floor.clone(), senders.clone()));
            let worked = async move { work(&store, draw, Waits::Fastest, floor, || 2_000).await };
            working.push(spawn_local(worked));
        }
        drop(senders);
        floor.measure();
        sleep(LASTS).await;
        floor.end();
        for terminal in working {
            terminal.await.unwrap().unwrap();
        }
        let tally = floor.tally();
        let rows = store.dump(1).await.unwrap();
        let orders: usize = tally.kinds.values().map(|of| of.took.len()).sum();
        assert!(orders > 100, "{tally:?}");
        let logged: usize = tally.deliveries.iter().map(|of| of.orders.len()).sum();
        let delivered: u64 = tally
            .delivered
            .values()
            .map(|orders| u64::from(*orders))
            .sum();
        assert_eq!(logged as u64, delivered);
        if tally.unknown == 0 {
            assert_eq!(check(&rows, population.scale, Some(&tally.delivered)), []);
            let taken = rows.warehouses[&1] - population.scale.warehouse_ytd();
            assert_eq!(taken, tally.paid);
        } else {
            assert_eq!(check(&rows, population.scale, None), []);
        }
    });
}
