//! Waiting until servers answer.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::{Cluster, ClusterError, http};
use crate::interrupt::Interrupt;
use crate::load::http::ONE_COPY_KEYSPACE;

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

/// Waits until every node is healthy and a write through each reaches three copies, or all where nodes are fewer, and that
/// all reach the keyspace that keeps one.
///
/// # Errors
/// As [`wait`].
pub fn all_nodes(cluster: &mut Cluster, interrupt: &Interrupt) -> Result<(), ClusterError> {
    let copies = cluster.addresses.len().min(3);
    let path = format!("/v0/entity?id={KEY}&ack={copies}&from={copies}");
    one_copy(cluster, interrupt)?;
    wait("the cluster", cluster, interrupt, |cluster| {
        let mut addresses = cluster.addresses.iter();
        addresses.try_for_each(|&address| expect(address, "PUT", &path, 201))
    })
}

/// Waits until every node is healthy and reaches the keyspace that keeps one copy.
///
/// # Errors
/// As [`wait`].
pub fn one_copy(cluster: &mut Cluster, interrupt: &Interrupt) -> Result<(), ClusterError> {
    let one_copy = format!("/v1/keyspaces/{ONE_COPY_KEYSPACE}");
    wait("the cluster", cluster, interrupt, |cluster| {
        for &address in &cluster.addresses {
            expect(address, "GET", "/health", 200)?;
        }
        if let Some(address) = cluster.addresses.first()
            && expect(*address, "GET", &one_copy, 200).is_err()
        {
            create_one_copy(*address)?;
        }
        for &address in &cluster.addresses {
            // Nothing is written there: `move` compares what the nodes hold record by record.
            let path = format!("{one_copy}/keys/{KEY}?ack=1&from=1");
            expect(address, "GET", &path, 404)?;
        }
        Ok(())
    })
}

/// Creates the keyspace that keeps one copy, else like the default one.
fn create_one_copy(address: SocketAddr) -> Result<(), String> {
    let asked = http::request(address, "GET", "/v1/keyspaces/default", b"");
    let (_, body) = asked.map_err(|error| error.to_string())?;
    let default: serde_json::Value = serde_json::from_str(&body)
        .map_err(|error| format!("keyspace default: {error}: {body}"))?;
    let mut wanted = default["settings"].clone();
    wanted["name"] = ONE_COPY_KEYSPACE.into();
    wanted["replicas"] = 1.into();
    match http::request(
        address,
        "POST",
        "/v1/keyspaces",
        wanted.to_string().as_bytes(),
    ) {
        Ok((201, _)) => Ok(()),
        Ok((status, body)) => Err(format!("POST /v1/keyspaces: {status} {body}")),
        Err(error) => Err(format!("POST /v1/keyspaces: {error}")),
    }
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
