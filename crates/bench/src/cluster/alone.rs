//! One node by itself: `dunlin serve` with its metadata in a file.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;

use super::server::Server;
use super::{Cluster, ClusterError, Sync, directory, ports, ready};
use crate::interrupt::Interrupt;

/// Starts it with its data below `parent` and waits until it is ready.
///
/// # Errors
/// When it does not start.
pub fn start(
    dunlin: &Path,
    parent: &Path,
    sync: Sync,
    more: &[String],
    interrupt: &Interrupt,
) -> Result<Cluster, ClusterError> {
    let directory = directory(parent, "alone")?;
    let http = SocketAddr::from((Ipv4Addr::LOCALHOST, ports::consecutive(1)?));
    let mut command = Command::new(dunlin);
    command
        .args(["serve", "--name", "n1", "--metadata", "embedded"])
        .args(["--replicas", "1", "--listen", "127.0.0.1:0"])
        .args(["--http", &http.to_string(), "--sync", sync.name()])
        .arg("--data")
        .arg(directory.path().join("data"))
        .args(more);
    let server = Server::spawn("n1", command, directory.path().join("n1.log"))?;
    let mut cluster = Cluster {
        addresses: vec![http],
        servers: vec![server],
        helpers: Vec::new(),
        directory,
    };
    ready::one_copy(&mut cluster, interrupt)?;
    Ok(cluster)
}
