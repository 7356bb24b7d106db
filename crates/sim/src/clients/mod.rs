//! Clients on a machine of their own: they know the nodes' addresses, their own clock, and what they
//! were answered.

mod attempts;
mod client;
mod direct;
mod ranges;
mod reader;
mod sessions;
mod txns;

pub use direct::is_direct;
pub use sessions::is_session;

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_rpc::{Caller, ConnectOptions, connect};
use rand::{Rng, SeedableRng, rngs::StdRng};
use tokio::time::sleep;

use crate::harness::ask::{Ask, Told};
use crate::harness::clock::SimClock;
use crate::harness::front;
use crate::harness::host::{Phase, Shared};
use crate::harness::transport::SimTransport;

/// Name of the clients' machine.
pub const NAME: &str = "clients";

/// Clients of the transactional keyspace.
const RANGE_CLIENTS: usize = 5;
/// Clients of transactions, in one request each.
const TXN_CLIENTS: usize = 3;
/// The same over several requests each.
const SESSION_CLIENTS: usize = 2;
/// The same without HTTP between.
const DIRECT_CLIENTS: usize = 2;
/// More that only read, where its leader is unseated.
const RANGE_READERS: usize = 3;

/// More than nodes' clocks are ahead that others put up with, in milliseconds.
pub const AHEAD_MS: i64 = 10_500;

/// Pause between looks where there is no work.
const IDLE: Duration = Duration::from_millis(50);

type Nodes = Rc<Vec<Caller<Ask, Told>>>;

/// Runs all clients of the run.
pub async fn run(shared: Rc<Shared>) -> turmoil::Result {
    let seed = shared.plan.seed ^ 0xc11e;
    let mut random = StdRng::seed_from_u64(seed);
    let skew_ms = shared.plan.client_skew_ms_max;
    let nodes: Nodes = Rc::new(
        (0..shared.plan.machines())
            .map(|n| caller(&shared, n))
            .collect(),
    );
    for number in 0..shared.plan.clients {
        let mut off_ms = random.random_range(-skew_ms..=skew_ms);
        if shared.plan.bad_clocks && random.random_bool(0.6) {
            // Its deadlines are late enough for nodes whose clocks are ahead.
            off_ms += AHEAD_MS;
        }
        let clock = SimClock::new(shared.time.clone(), off_ms);
        let client = client::Client::new(number, shared.clone(), nodes.clone(), clock);
        tokio::task::spawn_local(client.work());
    }
    if shared.plan.ranges {
        let mut random = StdRng::seed_from_u64(shared.plan.seed ^ 0x4a46_e5c1);
        let readers = if shared.plan.range_faults.unseats {
            RANGE_READERS
        } else {
            0
        };
        for number in 0..RANGE_CLIENTS + readers {
            let off_ms = random.random_range(-skew_ms..=skew_ms);
            let clock = SimClock::new(shared.time.clone(), off_ms);
            let is_reader = number >= RANGE_CLIENTS;
            let (shared, nodes) = (shared.clone(), nodes.clone());
            let client = ranges::Client::new(number, shared, nodes, clock, is_reader);
            tokio::task::spawn_local(client.work());
        }
    }
    if shared.plan.ranges {
        for number in 0..TXN_CLIENTS {
            let client = txns::Client::new(number, shared.clone(), nodes.clone());
            tokio::task::spawn_local(client.work());
        }
        for number in 0..SESSION_CLIENTS {
            let client = sessions::Client::new(number, shared.clone(), nodes.clone());
            tokio::task::spawn_local(client.work());
        }
        for number in 0..DIRECT_CLIENTS {
            let clock = SimClock::new(shared.time.clone(), 0);
            let client = direct::DirectClient::new(number, shared.clone(), clock);
            tokio::task::spawn_local(client.work());
        }
    }
    for host in 0..shared.plan.nodes {
        tokio::task::spawn_local(reader::run(shared.clone(), nodes.clone(), host));
    }
    std::future::pending::<()>().await;
    Ok(())
}

/// Waits for a client's next step: until there is work, and then for up to so many milliseconds.
async fn next_step(shared: &Shared, random: &mut StdRng, longest_ms: u64) {
    while shared.phase.get() != Phase::Work {
        sleep(IDLE).await;
    }
    let pause_ms = random.random_range(0..=longest_ms);
    sleep(Duration::from_millis(pause_ms)).await;
}

/// A line to a node, from the machine it is called on.
pub(crate) fn caller(shared: &Shared, host: usize) -> Caller<Ask, Told> {
    let address = format!("n{}:{}", host + 1, front::PORT);
    let options = ConnectOptions {
        seed: shared.plan.seed ^ host as u64,
        backoff_max: Duration::from_millis(300),
        ..ConnectOptions::default()
    };
    connect(
        std::sync::Arc::new(SimTransport),
        address,
        Bytes::new(),
        options,
    )
}
