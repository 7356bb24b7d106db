//! What the nodes of one process share: event loops, queues to each other's shards, caches.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use dunlin_rpc::QueueAddress;
use dunlin_store::{CacheSizes, SharedResources, StoreError};

use crate::message::{Request, Response};
use crate::node::loops::EventLoops;

/// Queues to the shards of this process, by node name and shard number.
#[derive(Clone, Default)]
pub struct Directory(Arc<Mutex<Queues>>);

type Queues = HashMap<(String, u16), QueueAddress<Request, Response>>;

impl Directory {
    /// Makes a shard known to the others of its process.
    pub fn add(&self, node: &str, shard: u16, queue: QueueAddress<Request, Response>) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert((node.into(), shard), queue);
    }

    /// Forgets a node's shards: it stops.
    pub fn remove(&self, node: &str) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|(name, _), _| name != node);
    }

    /// The queue to a shard of this process; `None` when it lives elsewhere.
    pub fn queue_to(&self, node: &str, shard: u16) -> Option<QueueAddress<Request, Response>> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&(node.into(), shard))
            .cloned()
    }
}

/// Threads for compactions of all stores of the process.
const COMPACTION_THREADS: u16 = 2;

/// Shared by all nodes that run in this process.
#[derive(Clone)]
pub struct Process {
    pub(crate) directory: Directory,
    pub(crate) resources: SharedResources,
    pub(crate) loops: EventLoops,
}

impl Process {
    /// With one set of caches for all. Shards run on at most `event_loops` threads:
    /// what shares one needs no thread woken to talk, what does not can use another core.
    ///
    /// # Errors
    /// When RocksDB cannot start its threads.
    pub fn new(caches: CacheSizes, event_loops: usize) -> Result<Process, StoreError> {
        Ok(Process {
            directory: Directory::default(),
            resources: SharedResources::new(caches, COMPACTION_THREADS)?,
            loops: EventLoops::new(event_loops),
        })
    }
}

/// How a connection names the shard it wants and the node that asks: the shard's number, the
/// asker's, and the wanted node's name.
pub fn hello(node: &str, shard: u16, asker: u16) -> Bytes {
    let mut hello = shard.to_le_bytes().to_vec();
    hello.extend_from_slice(&asker.to_le_bytes());
    hello.extend_from_slice(node.as_bytes());
    hello.into()
}

/// The shard a hello to `node` names, and who asks; `None` when it is meant for another node.
pub fn shard_wanted(hello: &[u8], node: &str) -> Option<(u16, u16)> {
    let (shard, rest) = hello.split_first_chunk::<2>()?;
    let (asker, name) = rest.split_first_chunk::<2>()?;
    (name == node.as_bytes()).then_some((u16::from_le_bytes(*shard), u16::from_le_bytes(*asker)))
}
