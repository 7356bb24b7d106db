//! A shard: one event loop, one log, one store, no locks. The path of a write
//! is `append` (into the log) -> `apply` (into the store) -> the answer.

mod admit;
mod append;
mod apply;
mod aside;
mod backlog;
mod claim;
mod copies;
mod count;
mod coverage;
mod dropped;
mod end;
mod flush;
mod front;
mod given;
mod guard;
mod happened;
mod held;
mod ingest;
mod lacks;
mod latency;
mod mark;
mod open;
mod own;
mod pages;
mod past;
mod peers;
mod purge;
mod quiet;
mod reach;
mod read;
mod refill;
mod retention;
mod seal;
mod slow;
mod stall;
mod stats;
mod sweep;
mod tell;
mod topology;
mod trust;
mod twins;
mod unsure;
mod width;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::{Rc, Weak};
use std::sync::Arc;

use dunlin_entry::{Origin, Vector, Version};
use dunlin_log::Log;
use dunlin_metadata::{Metadata, Shown, Sync};
use dunlin_proto::ShardAddress;
use dunlin_store::{SharedResources, Store};
use tokio::time::Instant;

use crate::clock::HybridClock;
use crate::config::NodeConfig;
use crate::env::Env;
use crate::follow::{Pins, ReadTurns};
use crate::placement::{KeyspacePlacement, Placement};
use crate::plug::{TellFeeds, Transactional};
use crate::process::{Directory, Process, Superseded};
use crate::replication::acks::{AckTracker, Slot};

pub use happened::Happened;
pub use open::OpenError;
pub use refill::{REFILL_FILE, REFILL_REPAIRED};
pub use stats::ShardStatus;

pub(crate) use append::{BatchDone, followed};
pub(crate) use flush::vector_of;
pub(crate) use given::{Offered, decide};
pub(crate) use guard::Known;
pub(crate) use ingest::{Sorted, is_range_empty};
pub(crate) use mark::is_full;
pub(crate) use own::{Done, OwnWrite, beyond};
pub(crate) use pages::Pages;
pub(crate) use peers::Peer;
pub(crate) use read::item_ref;
pub(crate) use refill::{Begun, Mixing};
pub(crate) use stall::{Arrivals, Stalls};
pub(crate) use stats::Counters;
pub(crate) use topology::Observer;
pub(crate) use trust::Looked;

use append::Applying;
use copies::Copies;
use front::Front;
use latency::Latency;
use quiet::Quiet;
use slow::Slow;

/// What a shard is made from.
pub struct ShardParts {
    /// The node's settings.
    pub config: Arc<NodeConfig>,
    /// The number of the node's cluster, as origins have it.
    pub cluster: u16,
    /// Which shard of which node.
    pub address: ShardAddress,
    /// Start count of the node.
    pub incarnation: u32,
    /// The start before this one that the node's directory knows of; 0 when it is new.
    pub known_incarnation: u32,
    /// The last start that the directory knew of; 0 when it is new. Differs from the one above where
    /// incarnations were left out on purpose.
    pub remembered_incarnation: u32,
    /// Time, network, disk, threads.
    pub env: Env,
    /// The cluster's metadata store.
    pub metadata: Metadata,
    /// What nodes of the same process share.
    pub process: Process,
}

impl ShardParts {
    fn origin(&self) -> Origin {
        let ShardAddress { node, shard } = self.address;
        Origin::new(node, shard, self.incarnation).in_cluster(self.cluster)
    }
}

/// One event loop's slice of a node.
pub struct Shard {
    config: Arc<NodeConfig>,
    address: ShardAddress,
    origin: Origin,
    env: Env,
    metadata: Metadata,
    directory: Directory,
    front: Front,
    log: Log,
    store: Store,
    resources: SharedResources,
    clock: HybridClock,
    counters: Counters,
    /// Up to which version of each origin everything meant for this shard is in its log.
    vector: RefCell<Vector>,
    placement: RefCell<Rc<Placement>>,
    /// Who hears of what changes around it.
    observers: RefCell<Vec<Weak<dyn Observer>>>,
    peers: RefCell<BTreeMap<ShardAddress, Rc<Peer>>>,
    /// Each replica's bit in the books of acknowledgements.
    slots: RefCell<BTreeMap<ShardAddress, Slot>>,
    acks: RefCell<AckTracker<OwnWrite>>,
    applying: RefCell<VecDeque<Applying>>,
    /// What is not applied just now; woken when something is queued, or may be applied again.
    quiet: Rc<Quiet>,
    /// Why the store takes nothing at the moment, if so.
    store_stuck: RefCell<Option<String>>,
    backlog: backlog::Backlog,
    /// Why the last flush failed; none after one that did not.
    flush_failed: RefCell<Option<flush::FlushFailed>>,
    /// What of the log is kept for whom.
    pins: Pins,
    /// The streams and views that capabilities serve.
    feeds: RefCell<Option<TellFeeds>>,
    /// The replicas of ranges that a capability keeps.
    ranges: RefCell<Option<Rc<dyn Transactional>>>,
    /// Who else than clients is read for, and who waits for it.
    read_turns: Rc<ReadTurns>,
    /// Who has which entries, as far as followers that are no replicas need to know.
    held: held::Held,
    /// What came as copies, which the vector does not show.
    copies: Copies,
    /// From where on its log serves which partition.
    covering: coverage::Covering,
    grace: flush::GraceTable,
    unflushed: flush::Unflushed,
    refill: refill::Refill,
    purge: purge::Purge,
    drops: dropped::Drops,
    /// No record in files that were taken over has a greater version.
    ingested: Cell<Version>,
    /// How long clients waited lately.
    latency: Latency,
    /// When its event loop stood still.
    stalls: Rc<Stalls>,
    /// Whether writers wait for a replica that falls behind.
    slow: Slow,
    /// What its clock is good for.
    comparison: trust::Comparison,
    counting: count::Counting,
    /// A width met in an entry is being noted.
    noting_width: Rc<Cell<bool>>,
    stopping: Cell<bool>,
    /// Who is who among the nodes.
    twins: twins::Twins,
    /// Where the process hears that another runs as its node.
    superseded: Shown<Option<Superseded>>,
    /// See [`ShardParts::remembered_incarnation`].
    remembered_incarnation: u32,
    /// When it was opened.
    started: Instant,
    /// Whether it has been ready for clients since.
    was_ready: Cell<bool>,
    /// Whether a write has met a stamp too far ahead, mended or not.
    has_met_far: Cell<bool>,
    /// Until when no copy is tried again that was ended by what only somebody can mend.
    copy_pause: Cell<Option<Instant>>,
    /// What was found damaged in the store since the start.
    damage: RefCell<Option<String>>,
    /// Whether the others have been told that it is about to stop.
    leaving: Cell<bool>,
    /// Cloned by all that works for other nodes.
    busy: Rc<()>,
    turn: Cell<usize>,
}

/// Whether entries of a keyspace must be on disk before they count.
pub(crate) fn needs_sync(keyspace: &KeyspacePlacement) -> bool {
    keyspace.keyspace.settings.sync == Sync::Always
}
