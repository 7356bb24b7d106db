//! Redis with one asynchronous replica, as a rival.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::server::Server;
use super::{Cluster, ClusterError, directory, ports, ready};
use crate::interrupt::Interrupt;

/// What the program calls itself; it chooses its role by that name.
pub const NAME: &str = "redis-server";

/// The program, when it is installed. Debian's `redis-tools` holds the same binary under the
/// name of its checker, which becomes the server when it is called [`NAME`].
pub fn program() -> Option<PathBuf> {
    crate::program::find(NAME).or_else(|| crate::program::find("redis-check-rdb"))
}

/// Starts a primary and a replica, without any writing to disk, and waits for their link.
///
/// # Errors
/// When they do not start.
pub fn start(parent: &Path, interrupt: &Interrupt) -> Result<Cluster, ClusterError> {
    let directory = directory(parent, "redis")?;
    let base = ports::consecutive(2)?;
    let mut cluster = Cluster {
        addresses: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, base))],
        servers: Vec::new(),
        helpers: Vec::new(),
        directory,
    };
    for (name, port) in [("primary", base), ("replica", base + 1)] {
        let mut command = Command::new(program().unwrap_or_else(|| NAME.into()));
        command
            .arg0(NAME)
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--appendonly", "no"])
            .args(["--repl-diskless-sync-delay", "0"])
            .arg("--dir")
            .arg(cluster.directory());
        if name == "replica" {
            command.args(["--replicaof", "127.0.0.1", &base.to_string()]);
        }
        let log = cluster.directory().join(format!("{name}.log"));
        cluster.servers.push(Server::spawn(name, command, log)?);
    }
    let replica = replica(cluster.addresses[0]);
    ready::wait("redis", &mut cluster, interrupt, |_| linked(replica))?;
    Ok(cluster)
}

/// Where the replica of a primary is that was started so.
pub fn replica(primary: SocketAddr) -> SocketAddr {
    SocketAddr::new(primary.ip(), primary.port() + 1)
}

fn linked(replica: SocketAddr) -> Result<(), String> {
    let ask = || {
        let mut stream = TcpStream::connect_timeout(&replica, Duration::from_secs(1))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(b"INFO replication\r\nQUIT\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok::<_, std::io::Error>(answer)
    };
    let answer = ask().map_err(|error| error.to_string())?;
    if answer.contains("master_link_status:up") {
        Ok(())
    } else {
        Err("the replica has no link to its primary".to_owned())
    }
}
