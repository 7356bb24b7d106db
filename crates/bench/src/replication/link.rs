//! A second cluster of two nodes that the keyspace is linked to.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::two_nodes;
use crate::cluster::{Cluster, http};
use crate::error::{BenchError, failed};
use crate::interrupt::Interrupt;
use crate::options::ReplicationOptions;

/// A link that has not delivered all by then has failed.
const ARRIVES: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(100);

/// What links say after the load.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Linked {
    /// From a write to the acknowledgement of the other cluster, in milliseconds: 80th, 95th, 99th percentile of the last
    /// writes of each shard, of the slowest link.
    pub latency_ms: [u64; 3],
    /// Entries that were sent, of all links.
    pub sent: u64,
    /// When all had been acknowledged, in seconds behind the end of the load.
    pub complete_s: f64,
}

/// Starts another cluster, and links the default keyspace to that of the other.
pub fn start(
    cluster: &Cluster,
    number: usize,
    (dunlin, data): (&Path, &Path),
    options: &ReplicationOptions,
    interrupt: &Interrupt,
) -> Result<Cluster, BenchError> {
    let other = two_nodes(dunlin, data, options, &[], interrupt)?;
    let to: Vec<String> = other
        .addresses
        .iter()
        .map(|at| format!("http://{at}"))
        .collect();
    let link = serde_json::json!({"name": format!("link-{number}"), "to": to, "keyspace": "away", "create": true});
    let path = "/v1/keyspaces/default/links";
    let made = http::request(
        cluster.addresses[0],
        "POST",
        path,
        link.to_string().as_bytes(),
    );
    match made {
        Ok((201, _)) => Ok(other),
        answer => Err(failed("a link".to_owned(), format!("{answer:?}"))),
    }
}

/// Waits until all is acknowledged.
pub fn finish(node: SocketAddr, interrupt: &Interrupt) -> Result<Linked, BenchError> {
    let ended = Instant::now();
    // The latencies are those under load.
    let first = read(node)?;
    let latency_ms = ["p80", "p95", "p99"].map(|percent| {
        let of = |link: &serde_json::Value| link[format!("latency_ms_{percent}")].as_u64();
        first.iter().filter_map(of).max().unwrap_or(0)
    });
    loop {
        let links = read(node)?;
        let is_done =
            |link: &serde_json::Value| link["entries_behind"] == 0 && link["state"] == "current";
        if links.iter().all(is_done) {
            return Ok(Linked {
                latency_ms,
                sent: links.iter().filter_map(|link| link["sent"].as_u64()).sum(),
                complete_s: ended.elapsed().as_secs_f64(),
            });
        }
        if ended.elapsed() > ARRIVES || interrupt.is_set() {
            return Err(failed(
                "a link".to_owned(),
                format!("it does not end: {links:?}"),
            ));
        }
        std::thread::sleep(LOOK);
    }
}

fn read(node: SocketAddr) -> Result<Vec<serde_json::Value>, BenchError> {
    match http::request(node, "GET", "/v1/links", b"") {
        Ok((200, body)) => serde_json::from_str(&body)
            .map_err(|error| failed("the state of links".to_owned(), error.to_string())),
        answer => Err(failed(
            "the state of links".to_owned(),
            format!("{answer:?}"),
        )),
    }
}
