//! What a shard takes from outside: time, network, disk and threads. The
//! simulation puts its own in place; everything else is the same code.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use dunlin_log::Runner;
use dunlin_log::disk::{Disk, RealDisk};
use dunlin_rpc::{TcpTransport, Transport};

use crate::clock::{Clock, SystemClock};
use crate::machine::{Machine, RealMachine};
use crate::sabotage::Sabotage;

/// A future bound to its shard's thread.
pub type LocalFuture<T> = Pin<Box<dyn Future<Output = T>>>;

/// Clock, network, disk and threads of one shard.
#[derive(Clone)]
pub struct Env {
    /// Wall clock.
    pub clock: Arc<dyn Clock>,
    /// Connections between nodes.
    pub transport: Arc<dyn Transport>,
    /// Files of the log.
    pub disk: Arc<dyn Disk>,
    /// What the machine tells of itself and of files.
    pub machine: Arc<dyn Machine>,
    /// Where log writes and syncs run.
    pub log_runner: Runner,
    /// Where reads that miss the cache run, beside them scans, and behind both flushes,
    /// compactions, and what is copied or dropped.
    pub store_runner: Runner,
    /// Seed of this shard's random choices.
    pub seed: u64,
    /// Whether stores work on RocksDB's threads beside the shard. In the simulation they do not:
    /// when a flush is done or a tombstone goes must not depend on real threads.
    pub store_background: bool,
    /// Deliberate bug, for the simulation only.
    pub sabotage: Sabotage,
}

impl Env {
    /// The machine as it is, with I/O threads for this shard.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn real(shard: &str, seed: u64) -> io::Result<Env> {
        Ok(Env {
            clock: Arc::new(SystemClock),
            transport: Arc::new(TcpTransport),
            disk: Arc::new(RealDisk),
            machine: Arc::new(RealMachine),
            log_runner: Runner::thread(&format!("{shard}-log"))?,
            store_runner: Runner::thread(&format!("{shard}-store"))?,
            seed,
            store_background: true,
            sabotage: Sabotage::None,
        })
    }
}
