//! What the nodes of one process share: event loops, queues to each other's shards, caches.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use dunlin_metadata::{Shown, Watcher};
use dunlin_proto::{Request, Response};
use dunlin_rpc::QueueAddress;
use dunlin_store::{CacheSizes, SharedResources, StoreError};

use crate::doors::{Bounds, Doors};
use crate::logins::Logins;
use crate::meters::Meters;
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
    pub(crate) superseded: Shown<Option<Superseded>>,
    pub(crate) doors: Arc<Doors>,
    pub(crate) meters: Meters,
    pub(crate) logins: Arc<Logins>,
}

/// A node of this process runs in another one, which started later: this one has to end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "another process runs as node {node}{}: it started later (its start has the number {newer}, this \
     one's {incarnation}), so this one ends; one name is for one process: start one of them with \
     another --name, or do not start it again; if there is no other, because that start has ended, \
     start this one again",
    place(.listen)
)]
pub struct Superseded {
    /// The node's name.
    pub node: String,
    /// Its incarnation here.
    pub incarnation: u32,
    /// The one of the other process.
    pub newer: u32,
    /// Where that one listens for other nodes, if the metadata store has told.
    pub listen: Option<String>,
}

fn place(listen: &Option<String>) -> String {
    let at = |listen: &String| format!(" at {listen}");
    listen.as_ref().map(at).unwrap_or_default()
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
            superseded: Shown::new(None),
            doors: Doors::new(Bounds::NONE),
            meters: Meters::default(),
            logins: Logins::new(),
        })
    }

    /// With bounds for what clients may have of it, and for the files each store keeps open.
    #[must_use]
    pub fn with_bounds(self, bounds: Bounds, open_files: u16) -> Process {
        Process {
            doors: Doors::new(bounds),
            resources: self.resources.with_open_files(open_files),
            ..self
        }
    }

    /// Whether one of its nodes runs in another process too.
    pub fn superseded(&self) -> Watcher<Option<Superseded>> {
        self.superseded.watch()
    }
}
