//! Waiting until servers answer.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::{Cluster, ClusterError, http};
use crate::interrupt::Interrupt;

const READY_S: u64 = 60;
/// The key that is written to see that a cluster is ready; it stays.
pub const KEY: &str = "ready";

/// Repeats `attempt` until it succeeds, a server ends, or a minute is over.
///
/// # Errors
/// What went wrong instead, with the last attempt's complaint.
pub fn wait(
    name: &str,
    cluster: &mut Cluster,
    interrupt: &Interrupt,
    mut attempt: impl FnMut(&Cluster) -> Result<(), String>,
) -> Result<(), ClusterError> {
    let start = Instant::now();
    loop {
        cluster.check()?;
        let Err(last) = attempt(cluster) else {
            return Ok(());
        };
        if start.elapsed().as_secs() >= READY_S {
            return Err(ClusterError::NotReady {
                name: name.to_owned(),
                seconds: READY_S,
                last,
            });
        }
        interrupt.sleep(Duration::from_millis(50))?;
    }
}

/// Waits until every node is healthy and a write through each reaches all three copies.
///
/// # Errors
/// As [`wait`].
pub fn all_nodes(cluster: &mut Cluster, interrupt: &Interrupt) -> Result<(), ClusterError> {
    let path = format!("/v0/entity?id={KEY}&ack=3&from=3");
    wait("the cluster", cluster, interrupt, |cluster| {
        for &address in &cluster.addresses {
            expect(address, "GET", "/health", 200)?;
        }
        for &address in &cluster.addresses {
            expect(address, "PUT", &path, 201)?;
        }
        Ok(())
    })
}

/// One request that must be answered with `status`.
///
/// # Errors
/// What was answered instead, in one line.
pub fn expect(address: SocketAddr, method: &str, path: &str, status: u16) -> Result<(), String> {
    match http::request(address, method, path, b"") {
        Ok((got, _)) if got == status => Ok(()),
        Ok((got, body)) => {
            let line = body.lines().next().unwrap_or_default();
            Err(format!("{method} http://{address}{path}: {got} {line}"))
        }
        Err(error) => Err(format!("{method} http://{address}{path}: {error}")),
    }
}
