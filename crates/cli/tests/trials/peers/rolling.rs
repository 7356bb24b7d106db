//! A rolling restart that waits for each node's `/health/ready` costs no client a request.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::harness::flock::Flock;
use crate::harness::random::Random;

use super::patient::{Client, Tally};

const CLIENTS: usize = 6;
const ROUNDS: usize = 2;

fn restart_all(flags: &[&str]) {
    let mut random = Random::from_environment();
    let mut flock = Flock::start(flags);
    let addresses = flock.addresses();
    let stop = AtomicBool::new(false);
    let mut slowest = Duration::ZERO;
    let tally = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let client = Client::new(&format!("c{number}"), &addresses, random.next());
                let stop = &stop;
                scope.spawn(move || client.run(stop))
            })
            .collect();
        let rounds = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..ROUNDS {
                for index in 0..3 {
                    std::thread::sleep(random.millis(300, 700));
                    flock.stop(index);
                    let stopped = Instant::now();
                    flock.spawn(index);
                    flock.ready(index);
                    slowest = slowest.max(stopped.elapsed());
                }
            }
            std::thread::sleep(Duration::from_millis(500));
        }));
        stop.store(true, Ordering::Relaxed);
        let mut tally = Tally::default();
        for client in clients {
            tally.merge(client.join().unwrap());
        }
        if let Err(panic) = rounds {
            std::panic::resume_unwind(panic);
        }
        tally
    });
    println!(
        "{} answers over {} restarts, the slowest ready after {slowest:?}; {} went to another node",
        tally.answered,
        3 * ROUNDS,
        tally.turned_away
    );
    let failures = &tally.failures;
    let first = &failures[..failures.len().min(10)];
    assert!(failures.is_empty(), "{} failed: {first:#?}", failures.len());
    assert!(tally.answered > 1_000, "hardly any load");
}

#[test]
fn of_three_nodes() {
    restart_all(&[]);
}

#[test]
fn of_three_nodes_of_two_shards_with_requests_that_meet_elsewhere() {
    restart_all(&["--shards", "2", "--flush", "1MiB"]);
}
