//! Three nodes in one process: `dunlin up`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;

use super::server::Server;
use super::{Cluster, ClusterError, Sync, directory, ports, ready};
use crate::interrupt::Interrupt;

/// Starts the cluster with its data below `parent` and waits until it is ready.
///
/// # Errors
/// When it does not start.
pub fn start(
    dunlin: &Path,
    parent: &Path,
    sync: Sync,
    interrupt: &Interrupt,
) -> Result<Cluster, ClusterError> {
    let directory = directory(parent, "up")?;
    let base = ports::consecutive(3)?;
    let mut command = Command::new(dunlin);
    command
        .args(["up", "--nodes", "3", "--data"])
        .arg(directory.path().join("data"))
        .args(["--http-port", &base.to_string(), "--sync", sync.name()]);
    let server = Server::spawn("dunlin up", command, directory.path().join("up.log"))?;
    let mut cluster = Cluster {
        addresses: (base..base + 3)
            .map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
            .collect(),
        servers: vec![server],
        helpers: Vec::new(),
        directory,
    };
    ready::all_nodes(&mut cluster, interrupt)?;
    Ok(cluster)
}
