//! Clusters of child processes: ours and the rivals'.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::interrupt::{Interrupt, Interrupted};
use server::Server;

pub mod alone;
pub mod client;
pub mod etcd;
pub mod http;
pub mod metrics;
pub mod nats;
pub mod ports;
pub mod postgres;
pub mod processes;
pub mod ready;
pub mod redis;
pub mod server;
pub mod up;

/// Running servers and their data; dropping it ends the servers and removes the data.
#[derive(Debug)]
pub struct Cluster {
    /// Where each node takes requests.
    pub addresses: Vec<SocketAddr>,
    servers: Vec<Server>,
    /// Needed, but not what is measured: the metadata store.
    helpers: Vec<Server>,
    directory: TempDir,
}

impl Cluster {
    /// The processes whose CPU and memory are measured.
    pub fn pids(&self) -> Vec<u32> {
        self.servers.iter().map(Server::pid).collect()
    }

    /// Where the data is.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Kills one of the servers, by its place among the addresses.
    ///
    /// # Errors
    /// When that cannot be done.
    pub fn kill(&mut self, index: usize) -> Result<(), ClusterError> {
        let server = self.servers.get_mut(index);
        Ok(server.map_or(Ok(()), Server::kill)?)
    }

    /// Starts it again as it was started.
    ///
    /// # Errors
    /// When it cannot be executed.
    pub fn start_again(&mut self, index: usize) -> Result<(), ClusterError> {
        let server = self.servers.get_mut(index);
        server.map_or(Ok(()), Server::start_again)
    }

    /// Ends the servers in order, so that all they have is on disk; their data stays.
    ///
    /// # Errors
    /// When one does not end, or fails to; when the user stops the run.
    pub fn end(&mut self, interrupt: &Interrupt) -> Result<(), ClusterError> {
        const LOOK_EVERY: Duration = Duration::from_millis(50);
        const LOOKS: u32 = 2_400;
        self.servers.iter().try_for_each(Server::ask_to_end)?;
        let mut looks = 0;
        while let Some(mut server) = self.servers.pop() {
            while !server.has_ended()? {
                if looks == LOOKS {
                    let within = LOOK_EVERY * LOOKS;
                    return Err(ClusterError::Endless {
                        seconds: within.as_secs(),
                    });
                }
                looks += 1;
                interrupt.sleep(LOOK_EVERY)?;
            }
        }
        Ok(())
    }

    /// Whether all servers still run.
    ///
    /// # Errors
    /// [`ClusterError::Exited`] with the end of the log of the first that does not.
    pub fn check(&mut self) -> Result<(), ClusterError> {
        self.servers
            .iter_mut()
            .chain(&mut self.helpers)
            .try_for_each(Server::check)
    }
}

/// When a store's own cluster acknowledges a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sync {
    /// After a sync to disk.
    Always,
    /// Without waiting for the disk.
    Never,
}

impl Sync {
    /// As the command line spells it.
    pub fn name(self) -> &'static str {
        match self {
            Sync::Always => "always",
            Sync::Never => "never",
        }
    }
}

/// Why a cluster could not be started or did not keep running.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The program is missing or cannot be executed: build or install it, or name another.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The program.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A server ended by itself.
    #[error("{name} ended ({status}); its last lines:\n{log}")]
    Exited {
        /// Which.
        name: String,
        /// How.
        status: String,
        /// The end of what it printed.
        log: String,
    },
    /// The servers run but do not answer.
    #[error("{name} is not ready after {seconds} s: {last}")]
    NotReady {
        /// Which.
        name: String,
        /// How long was waited.
        seconds: u64,
        /// What the last attempt said.
        last: String,
    },
    /// No free ports.
    #[error("no {count} free consecutive ports on 127.0.0.1")]
    Ports {
        /// How many were wanted.
        count: u16,
    },
    /// A server was asked to end, and still runs.
    #[error("a server does not end after {seconds} s")]
    Endless {
        /// How long was waited.
        seconds: u64,
    },
    /// The data directory cannot be made.
    #[error("data directory: {0}")]
    Directory(#[from] io::Error),
    /// The user stopped the run.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

/// A new directory below `parent`, removed when dropped.
fn directory(parent: &Path, name: &str) -> io::Result<TempDir> {
    tempfile::Builder::new()
        .prefix(&format!("dunlin-bench-{name}-"))
        .tempdir_in(parent)
}
