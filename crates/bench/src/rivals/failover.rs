//! For how long nothing is written when the leader is killed.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::case::{Setup, TRANSACTIONAL_KEYSPACE};
use crate::cluster::{Cluster, ClusterError, http, ready};
use crate::error::BenchError;
use crate::interrupt::Interrupt;
use crate::options::Store;

/// A request is sent to a survivor so often.
const EVERY: Duration = Duration::from_millis(10);
/// Longer is no service.
const PATIENCE: Duration = Duration::from_secs(20);
/// All run again for so long before the next kill.
const REST: Duration = Duration::from_secs(3);

/// How long each kill of a leader took from service.
#[derive(Debug, Clone, Serialize)]
pub struct Failover {
    /// Of whom.
    pub setup: Setup,
    /// From each kill to the first put that was begun after it and acknowledged, in milliseconds.
    pub without_service_ms: Vec<f64>,
}

/// Kills leaders so many times, and starts each again.
///
/// # Errors
/// When nobody leads, nothing is written again, or one does not start.
pub fn measure(
    setup: Setup,
    cluster: &mut Cluster,
    kills: usize,
    interrupt: &Interrupt,
) -> Result<Failover, BenchError> {
    let mut without_service_ms = Vec::with_capacity(kills);
    for _ in 0..kills {
        let mut leads = None;
        ready::wait("the leader", cluster, interrupt, |cluster| {
            leads = leader(setup, &cluster.addresses);
            leads.map(drop).ok_or_else(|| "nobody leads".to_owned())
        })?;
        let Some(leads) = leads else { continue };
        let survivors: Vec<SocketAddr> = (cluster.addresses.iter().enumerate())
            .filter(|(index, _)| *index != leads)
            .map(|(_, address)| *address)
            .collect();
        cluster.kill(leads)?;
        let gap = first_put(setup, &survivors).ok_or(ClusterError::NotReady {
            name: setup.name().to_owned(),
            seconds: PATIENCE.as_secs(),
            last: "no put is acknowledged after its leader was killed".to_owned(),
        })?;
        without_service_ms.push(gap.as_secs_f64() * 1e3);
        cluster.start_again(leads)?;
        ready::wait("the node that was killed", cluster, interrupt, |cluster| {
            let mut addresses = cluster.addresses.iter();
            addresses.try_for_each(|&address| ready::expect(address, "GET", "/health", 200))
        })?;
        interrupt.sleep(REST).map_err(ClusterError::from)?;
    }
    Ok(Failover {
        setup,
        without_service_ms,
    })
}

/// Which node leads, as all say that can be asked.
fn leader(setup: Setup, addresses: &[SocketAddr]) -> Option<usize> {
    match setup.store {
        Store::Etcd => addresses.iter().position(|&address| {
            let answer = http::request(address, "GET", "/metrics", b"");
            answer.is_ok_and(|(_, text)| text.contains("\netcd_server_is_leader 1"))
        }),
        _ => addresses.iter().find_map(|&address| {
            let (_, body) = http::request(address, "GET", "/v1/status", b"").ok()?;
            let status: serde_json::Value = serde_json::from_str(&body).ok()?;
            let ranges = status["ranges"].as_array()?;
            let leads = ranges
                .iter()
                .find(|range| range["role"] == "leader" && range["keyspace"] != "_oracle")?;
            let name = leads["at"].as_str()?.split('/').next()?;
            name.strip_prefix('n')?
                .parse::<usize>()
                .ok()?
                .checked_sub(1)
        }),
    }
}

/// From now to the first put that a survivor acknowledges.
fn first_put(setup: Setup, survivors: &[SocketAddr]) -> Option<Duration> {
    let begun = Instant::now();
    let (done, first) = mpsc::channel();
    let mut turn = 0;
    while begun.elapsed() < PATIENCE {
        let address = *survivors.get(turn % survivors.len().max(1))?;
        turn += 1;
        let done = done.clone();
        thread::spawn(move || {
            if put(setup, address) {
                // Nobody waits for the later ones.
                let _ = done.send(begun.elapsed());
            }
        });
        if let Ok(elapsed) = first.recv_timeout(EVERY) {
            return Some(elapsed);
        }
    }
    None
}

fn put(setup: Setup, address: SocketAddr) -> bool {
    let answer = match setup.store {
        Store::Etcd => {
            let body = br#"{"key": "cHJvYmU=", "value": "eA=="}"#;
            http::request(address, "POST", "/v3/kv/put", body)
        }
        _ => {
            let path = format!("/v1/keyspaces/{TRANSACTIONAL_KEYSPACE}/keys/probe");
            http::request(address, "PUT", &path, b"x")
        }
    };
    answer.is_ok_and(|(status, _)| matches!(status, 200 | 201))
}
