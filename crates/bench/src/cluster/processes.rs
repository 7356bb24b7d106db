//! Three nodes as three processes on a real etcd: `dunlin serve`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;

use super::server::Server;
use super::{Cluster, ClusterError, Sync, directory, etcd, ports, ready};
use crate::interrupt::Interrupt;

/// Starts one etcd for the metadata and three nodes, and waits until they are ready.
///
/// # Errors
/// When they do not start.
pub fn start(
    dunlin: &Path,
    parent: &Path,
    sync: Sync,
    interrupt: &Interrupt,
) -> Result<Cluster, ClusterError> {
    let directory = directory(parent, "processes")?;
    let base = ports::consecutive(8)?;
    let address = |port: u16| format!("127.0.0.1:{port}");
    let metadata = etcd::member(directory.path(), "metadata", base, base + 1, None)?;
    let mut cluster = Cluster {
        addresses: (base + 2..base + 5)
            .map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
            .collect(),
        servers: Vec::new(),
        helpers: vec![metadata],
        directory,
    };
    let metadata_address = SocketAddr::from((Ipv4Addr::LOCALHOST, base));
    ready::wait("etcd", &mut cluster, interrupt, |_| {
        ready::expect(metadata_address, "GET", "/health", 200)
    })?;
    for node in 0..3 {
        let name = format!("n{}", node + 1);
        let mut command = Command::new(dunlin);
        command
            .args(["serve", "--name", &name, "--data"])
            .arg(cluster.directory().join(&name))
            .args(["--http", &address(base + 2 + node)])
            .args(["--listen", &address(base + 5 + node)])
            .args(["--metadata", &format!("etcd://{}", address(base))])
            .args(["--sync", sync.name()]);
        let log = cluster.directory().join(format!("{name}.log"));
        cluster.servers.push(Server::spawn(&name, command, log)?);
    }
    ready::three_nodes(&mut cluster, interrupt)?;
    Ok(cluster)
}
