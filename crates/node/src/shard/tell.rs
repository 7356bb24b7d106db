//! What a shard tells of itself. Its fields are its own; whoever stands on it asks.

use std::cell::Ref;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use dunlin_entry::{Origin, Vector, Version};
use dunlin_log::{Index, Progress, SegmentInfo};
use dunlin_metadata::{Cluster, Metadata};
use dunlin_proto::ShardAddress;
use dunlin_store::SharedResources;
use dunlin_store::{Snapshot, Store};

use super::held::Held;
use super::{Copies, Counters, Latency, Peer, Shard, Slow, Stalls};
use crate::clock::HybridClock;
use crate::config::NodeConfig;
use crate::env::Env;
use crate::follow::{Bound, Class, Pins, Reader, Source, Turn};
use crate::placement::Placement;

/// Who it is, and what it runs on.
impl Shard {
    /// Which shard this is.
    #[inline]
    pub fn address(&self) -> ShardAddress {
        self.address
    }

    /// As which it writes in this life.
    #[inline]
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// This shard's name among its peers, as `NODE/SHARD`.
    pub fn label(&self) -> String {
        format!("{}/{}", self.config.name, self.address.shard)
    }

    /// The node's settings.
    #[inline]
    pub(crate) fn config(&self) -> &NodeConfig {
        &self.config
    }

    /// Time, network, disk, threads.
    #[inline]
    pub(crate) fn env(&self) -> &Env {
        &self.env
    }

    /// Where its log, its store and its marks are.
    pub(crate) fn dir(&self) -> PathBuf {
        self.config
            .data
            .join(format!("shard-{}", self.address.shard))
    }

    /// What the databases of the process share.
    pub(crate) fn resources(&self) -> &SharedResources {
        &self.resources
    }

    /// The cluster's metadata store.
    pub(crate) fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// What it stamps with.
    #[inline]
    pub(crate) fn clock(&self) -> &HybridClock {
        &self.clock
    }

    /// A number that differs from call to call, to spread load.
    pub(crate) fn next_turn(&self) -> usize {
        self.turn.set(self.turn.get().wrapping_add(1));
        self.turn.get()
    }

    /// Whether it is about to end.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.get()
    }
}

/// Who else there is.
impl Shard {
    /// The placement in force.
    #[inline]
    pub(crate) fn placement(&self) -> Rc<Placement> {
        self.placement.borrow().clone()
    }

    /// The replica reached by `address`, if it is another shard of the cluster.
    pub(crate) fn peer(&self, address: ShardAddress) -> Option<Rc<Peer>> {
        self.peers.borrow().get(&address).cloned()
    }

    /// All of them; not to be held across a wait.
    pub(crate) fn peers(&self) -> Ref<'_, BTreeMap<ShardAddress, Rc<Peer>>> {
        self.peers.borrow()
    }

    /// Whether a shard of that node runs in this process.
    pub(crate) fn is_near(&self, node: &str, shard: u16) -> bool {
        self.directory.queue_to(node, shard).is_some()
    }

    /// The cluster's id; 0 where it has none.
    pub(crate) fn cluster_number(&self) -> u128 {
        let topology = self.metadata.topology().borrow().clone();
        topology.cluster.as_ref().map_or(0, Cluster::number)
    }

    /// A keyspace's name, for people.
    pub(crate) fn name_of(&self, keyspace: u32) -> String {
        let placement = self.placement();
        let placed = placement.keyspace(keyspace);
        placed.map_or_else(|| "NAME".to_owned(), |k| k.keyspace.name.clone())
    }
}

/// What it holds.
impl Shard {
    /// Everything meant for this shard up to these versions is here.
    pub fn vector(&self) -> Vector {
        self.vector.borrow().clone()
    }

    /// The same, to look at; not to be held across a wait.
    pub(crate) fn known(&self) -> Ref<'_, Vector> {
        self.vector.borrow()
    }

    /// Up to which version of an origin everything meant for this shard is here.
    pub(crate) fn has_up_to(&self, origin: Origin) -> Version {
        self.vector.borrow().get(origin)
    }

    /// What came as copies, which the vector does not show.
    pub(crate) fn copies(&self) -> &Copies {
        &self.copies
    }

    /// Who has which entries, as far as followers that are no replicas need to know.
    pub(crate) fn held(&self) -> &Held {
        &self.held
    }

    /// The store, for inspection.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The store as it is now.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.store.snapshot()
    }

    /// The oldest write of its own that waits for replicas.
    pub(crate) fn oldest_waiting(&self) -> Option<Version> {
        self.acks.borrow().oldest()
    }
}

/// Its log, to read.
impl Shard {
    /// Reads on from an entry.
    pub(crate) fn source(&self, from: Index, bound: Bound) -> Source {
        Source::new(self.log.clone(), from, bound)
    }

    /// The same for who is no replica: what is on disk for good, in turns.
    pub(crate) fn reader(&self, from: Index) -> Reader {
        Reader::new(self.log.clone(), self.read_turns.clone(), from)
    }

    /// The first entry that is kept.
    pub(crate) fn log_first(&self) -> Index {
        self.log.first()
    }

    /// The last entry there is, written or not.
    pub fn log_last(&self) -> Index {
        self.log.last()
    }

    /// How far it is written and synced.
    pub(crate) fn log_progress(&self) -> Progress {
        self.log.progress()
    }

    /// Waits for a turn to be read for, log or stored records.
    pub(crate) async fn turn(&self, class: Class) -> Turn<'_> {
        self.read_turns.turn(class).await
    }

    /// The files it is in.
    pub(crate) fn segments(&self) -> Vec<SegmentInfo> {
        self.log.segments()
    }

    /// What of it is kept for whom.
    pub(crate) fn pins(&self) -> &Pins {
        &self.pins
    }
}

/// How it is doing.
impl Shard {
    /// What it counts.
    #[inline]
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How long clients waited lately.
    #[inline]
    pub(crate) fn latency(&self) -> &Latency {
        &self.latency
    }

    /// When its event loop stood still.
    #[inline]
    pub(crate) fn stalls(&self) -> &Rc<Stalls> {
        &self.stalls
    }

    /// Whether writers wait for a replica that falls behind.
    #[inline]
    pub(crate) fn slow(&self) -> &Slow {
        &self.slow
    }
}
