//! The side that receives: a process that listens.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::cluster::ClusterError;
use crate::cluster::server::Server;
use crate::copy::Session;
use crate::error::BenchError;
use crate::host::{network, tree};

const READY_S: u64 = 20;
/// How long a receiver's own children may take to end when the sender has gone.
const LEAVING: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(2);

/// Starts a server, and waits until it listens on a port of 127.0.0.1.
///
/// # Errors
/// When it cannot be started, ends, or does not listen.
pub fn start(
    session: &Session,
    name: &str,
    command: Command,
    port: u16,
) -> Result<Server, BenchError> {
    let log = session.scratch.path().join("receiver.log");
    let mut server = Server::spawn(name, command, log)?;
    let began = Instant::now();
    while !network::listens(server.pid(), port) {
        server.check()?;
        if began.elapsed().as_secs() >= READY_S {
            return Err(BenchError::Cluster(ClusterError::NotReady {
                name: name.to_owned(),
                seconds: READY_S,
                last: format!("it does not listen on 127.0.0.1:{port}"),
            }));
        }
        session.interrupt.sleep(POLL)?;
    }
    Ok(server)
}

/// Ends a server, when all that it had started for the sender has ended: only then is their CPU
/// time in its own.
pub fn end(server: Server) {
    let began = Instant::now();
    while tree::of(server.pid()).len() > 1 && began.elapsed() < LEAVING {
        std::thread::sleep(POLL);
    }
    drop(server);
}

/// The address of a port of this machine.
pub fn address(port: u16) -> String {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port)).to_string()
}
