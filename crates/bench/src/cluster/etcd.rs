//! etcd: a single member of the installed one for metadata, or three of the built one as a rival.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::server::Server;
use super::{Cluster, ClusterError, directory, ports, ready};
use crate::interrupt::Interrupt;

/// The program, when it is installed.
pub fn program() -> Option<PathBuf> {
    crate::program::find("etcd")
}

/// The rival's program, when it has been built.
pub fn rival() -> Option<PathBuf> {
    crate::program::rival("etcd")
}

/// Starts one member; `peers` are the members of its cluster when it is not alone.
///
/// # Errors
/// When it cannot be executed.
pub fn member(
    program: Option<PathBuf>,
    directory: &Path,
    name: &str,
    client_port: u16,
    peer_port: u16,
    peers: Option<&str>,
) -> Result<Server, ClusterError> {
    let client = format!("http://127.0.0.1:{client_port}");
    let peer = format!("http://127.0.0.1:{peer_port}");
    let alone = format!("{name}={peer}");
    let mut command = Command::new(program.unwrap_or_else(|| "etcd".into()));
    command
        .args(["--name", name, "--data-dir"])
        .arg(directory.join(name))
        .args(["--listen-client-urls", &client])
        .args(["--advertise-client-urls", &client])
        .args(["--listen-peer-urls", &peer])
        .args(["--initial-advertise-peer-urls", &peer])
        .args(["--initial-cluster", peers.unwrap_or(&alone)])
        .args(["--quota-backend-bytes", "8589934592"])
        .args(["--logger", "zap", "--log-level", "warn"]);
    Server::spawn(name, command, directory.join(format!("{name}.log")))
}

/// Starts three members of the rival and waits until they have a leader.
///
/// # Errors
/// When they do not start.
pub fn start(parent: &Path, interrupt: &Interrupt) -> Result<Cluster, ClusterError> {
    let directory = directory(parent, "etcd")?;
    let base = ports::consecutive(6)?;
    let peers: Vec<String> = (0..3)
        .map(|index| format!("e{}=http://127.0.0.1:{}", index + 1, base + 3 + index))
        .collect();
    let mut cluster = Cluster {
        addresses: (base..base + 3)
            .map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
            .collect(),
        servers: Vec::new(),
        helpers: Vec::new(),
        directory,
    };
    for index in 0..3 {
        let name = format!("e{}", index + 1);
        let (client, peer) = (base + index, base + 3 + index);
        let server = member(
            rival(),
            cluster.directory(),
            &name,
            client,
            peer,
            Some(&peers.join(",")),
        )?;
        cluster.servers.push(server);
    }
    ready::wait("etcd", &mut cluster, interrupt, |cluster| {
        cluster
            .addresses
            .iter()
            .try_for_each(|&address| ready::expect(address, "GET", "/health", 200))
    })?;
    Ok(cluster)
}
