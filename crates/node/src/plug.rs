//! Capabilities that are crates of their own: each plugs into the node, which knows none of them by name.
//! What a capability may do with the shard it is plugged into is in [`Services`] and in what that gives.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_entry::{Origin, Stamp, Version};
use dunlin_log::disk::Disk;
use dunlin_log::{Index, Runner};
use dunlin_metadata::{
    Keyspace, MetadataError, NodeRecord, RangeReplica, RangeReplicas, Recover, Retarget, Topology,
    ViewChange, ViewRecord, is_gone, plan_places,
};
use dunlin_proto::api::{FeedStatus, Figure, RangeStatus, StreamStatus, ViewStatus};
use dunlin_proto::{Item, Request, Response, ShardAddress, WriteRequest};
use dunlin_rpc::{CallError, Items, Reply, Sink};
use dunlin_store::SharedResources;
use serde::{Deserialize, Serialize};

use crate::doors::{Bounds, Doors, Held, NoRoom};
use crate::env::LocalFuture;
use crate::follow::{Pace, Segment, bytes_behind};
use crate::http::{Answer, Ask, Rejected, Rule};
use crate::quorum::{Failure, Quorum, Scan, Window};
use crate::replication::address_of;
use crate::services::Services;

/// The keyspace that capabilities keep their own in. Names that begin with `_` are not for users.
pub const SYSTEM_KEYSPACE: &str = "_system";

pub use dunlin_metadata::ORACLE_KEYSPACE;

/// How often, and after what pauses, it is looked whether a change of the metadata was seen here.
const SEEN_LOOKS: usize = 400;
const SEEN_PAUSE: Duration = Duration::from_millis(5);

/// The streams and views that capabilities serve at a shard.
pub(crate) type TellFeeds = Box<dyn Fn() -> FeedStatus>;

/// Transactions that a shard has coordinated since its start, told to others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TxnCounts {
    /// That committed.
    pub commits: u64,
    /// That did not, for others were in the way.
    pub conflicts: u64,
    /// Of which a check did not hold.
    pub checks_failed: u64,
    /// Of which it is not known.
    pub unknown: u64,
    /// That were not used for too long, or lasted too long.
    pub expired: u64,
    /// Attempts at another timestamp, of the server itself.
    pub retries: u64,
    /// Times that another's outcome was asked for.
    pub pushes: u64,
    /// Attempts refused since a key was read or written later.
    pub refused_newer: u64,
    /// Attempts refused since what they need may be forgotten.
    pub refused_old: u64,
    /// Attempts refused for another's intent.
    pub refused_intent: u64,
    /// Attempts refused since what they had read was changed.
    pub refused_changed: u64,
    /// Attempts aborted for another's sake.
    pub refused_aborted: u64,
    /// That wait for the lock of a key, at leaders here, now.
    pub waiting: u64,
    /// Over several requests, open now.
    pub open: u64,
    /// Milliseconds by which the newest timestamp that was given here is ahead of the clock.
    pub ahead_ms: u64,
    /// The same of the greatest that is known here, leases among them.
    pub known_ahead_ms: u64,
}

/// Why a shard does not serve ranges that it should.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RangeTrouble {
    /// For people.
    pub why: String,
    /// The ranges of which its replicas do not work, as `KEYSPACE/NUMBER`; none where others lead them, and they work again
    /// by themselves.
    pub ranges: Vec<String>,
}

/// Memory that a request of a client takes, until it is dropped.
pub struct Memory(Held);

impl Memory {
    /// That nobody counts: for tests.
    pub fn uncounted() -> Memory {
        Memory(Doors::new(Bounds::NONE).account())
    }

    /// Takes more.
    ///
    /// # Errors
    /// [`Failure::Full`] where there is no room.
    pub fn grow(&mut self, more: usize) -> Result<(), Failure> {
        self.0.grow(more).map_err(|NoRoom| Failure::Full)
    }

    /// It takes so much now, whether or not there is room: it is there already.
    pub fn set(&mut self, bytes: usize) {
        self.0.set(bytes);
    }
}

/// Records of a range of keys, in order.
#[derive(Debug, Clone, Default)]
pub struct RangePage {
    /// Those that have values.
    pub items: Vec<Item>,
    /// Where the next page begins; none behind the last.
    pub next: Option<Bytes>,
}

/// Serves the keyspaces of mode transactional, from any node.
pub trait Transactional {
    /// The newest value of a key, not older than any write that was answered before it was asked.
    fn read(&self, keyspace: u32, key: Bytes) -> LocalFuture<Result<Option<Item>, Failure>>;

    /// Writes, and answers when that is on the disks of a majority. Never tried again where it may have happened.
    fn write(&self, request: WriteRequest) -> LocalFuture<Result<Stamp, Failure>>;

    /// Keys from `start` to before `end`.
    fn page(
        &self,
        keyspace: u32,
        start: Bytes,
        end: Option<Bytes>,
    ) -> LocalFuture<Result<RangePage, Failure>>;

    /// Waits until the replicas of a new keyspace serve it.
    fn made(&self, keyspace: Keyspace) -> LocalFuture<Result<(), Rejected>>;

    /// The replicas at this shard, and the transactions that it coordinates.
    fn status(&self) -> (Vec<RangeStatus>, TxnCounts);

    /// The reason why this shard does not serve ranges that it should, if there is one.
    fn trouble(&self) -> Option<RangeTrouble>;
}

/// A capability, for all nodes of a process.
pub trait Plug: Debug + Send + Sync {
    /// Its part at one shard, made on that shard's event loop.
    fn attach(&self) -> Rc<dyn Plugged>;
}

/// A capability's part at one shard.
pub trait Plugged: Any {
    /// Its number among the capabilities, the same at all nodes.
    fn number(&self) -> u8;

    /// What a path below `/v1/` takes, cut at its slashes and not decoded; `None` where it is not its own.
    fn rules(&self, parts: &[&str]) -> Option<&'static [Rule]>;

    /// Answers a request that these rules let in.
    fn http(&self, services: Rc<Services>, ask: Ask) -> LocalFuture<Result<Answer, Rejected>>;

    /// Its duties, until the shard ends.
    fn run(&self, services: &Rc<Services>);

    /// Hands over what others can do as well, before the shard ends. Clients of this node are gone by then.
    fn leave(&self, _: &Rc<Services>) -> LocalFuture<()> {
        Box::pin(async {})
    }

    /// How it serves transactional keyspaces, if it does.
    fn transactional(&self, _: &Rc<Services>) -> Option<Rc<dyn Transactional>> {
        None
    }

    /// The streams that it serves, for status and metrics.
    fn streams(&self, _: &Services) -> Vec<StreamStatus> {
        Vec::new()
    }

    /// The views of which it has a part, for status and metrics.
    fn views(&self, _: &Services) -> Vec<ViewStatus> {
        Vec::new()
    }

    /// Its other figures, for metrics.
    fn figures(&self, _: &Services) -> Vec<Figure> {
        Vec::new()
    }

    /// Answers its like at another shard.
    fn call(&self, services: &Rc<Services>, body: Bytes, reply: Reply<Response>);

    /// The same for requests that are not answered. A capability that knows of none leaves them out.
    fn notice(&self, _: &Rc<Services>, _: Bytes) {}

    /// The same with a stream of items.
    fn open(&self, services: &Rc<Services>, body: Bytes, sink: Sink<Response>);
}

/// Items that another shard sends, over the connection for what nobody's put waits behind.
pub struct PlugItems {
    items: Items<Response>,
    /// Keeps the connection.
    _held: Rc<()>,
}

impl PlugItems {
    /// The next; `None` when all were sent. Given up while it waits, nothing is lost.
    ///
    /// # Errors
    /// See [`CallError`]; nothing more comes.
    pub async fn next(&mut self) -> Option<Result<Bytes, CallError>> {
        match self.items.next().await? {
            Ok(Response::Plug(body)) => Some(Ok(body)),
            Ok(_) => Some(Err(CallError::Protocol("an answer out of turn".to_owned()))),
            Err(error) => Some(Err(error)),
        }
    }
}

impl Services {
    /// Asks the capability of this number at another shard.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn ask(
        &self,
        at: ShardAddress,
        number: u8,
        body: Bytes,
        within: Duration,
    ) -> Result<Bytes, CallError> {
        let peer = self.shard.peer(at).ok_or(CallError::Disconnected)?;
        match peer
            .caller
            .call(Request::Plug { number, body }, within)
            .await?
        {
            Response::Plug(body) => Ok(body),
            _ => Err(CallError::Protocol("an answer out of turn".to_owned())),
        }
    }

    /// Sends something to the capability of this number at another shard, which is not answered; it may be lost.
    ///
    /// # Errors
    /// Where it is certain that it does not arrive.
    pub fn notify(&self, at: ShardAddress, number: u8, body: Bytes) -> Result<(), CallError> {
        let peer = self.shard.peer(at).ok_or(CallError::Disconnected)?;
        peer.caller.notify(Request::Plug { number, body })
    }

    /// Opens a stream of items of the capability of this number at another shard, of which so many bytes may
    /// be on their way.
    ///
    /// # Errors
    /// When there is no such shard.
    pub async fn open(
        &self,
        at: ShardAddress,
        number: u8,
        body: Bytes,
        window_bytes: usize,
    ) -> Result<PlugItems, CallError> {
        let peer = self.shard.peer(at).ok_or(CallError::Disconnected)?;
        let request = Request::Plug { number, body };
        let (items, held) = peer.stream_aside(request, window_bytes).await.into_parts();
        Ok(PlugItems { items, _held: held })
    }

    /// Whether there is such a shard, as far as is known here.
    pub fn is_shard(&self, at: ShardAddress) -> bool {
        at == self.shard.address() || self.shard.peer(at).is_some()
    }

    /// Whether another process runs as this node: whatever is done here does not count.
    pub fn is_superseded(&self) -> bool {
        self.shard.is_superseded()
    }

    /// Whether a shard can be asked now.
    pub fn is_reachable(&self, at: ShardAddress) -> bool {
        self.shard.is_reachable(at)
    }

    /// What a shard is called, for people.
    pub fn label_of(&self, at: ShardAddress) -> String {
        if at == self.shard.address() {
            self.shard.label()
        } else {
            self.shard.label_of(at)
        }
    }

    /// Where a node serves HTTP, as `host:port`, and how many shards it has.
    pub fn http_of(&self, node: u16) -> Option<(String, u16)> {
        let placement = self.shard.placement();
        let record = placement.nodes.get(&node)?;
        Some((record.http.clone(), record.shards))
    }

    /// The replicas of a partition that are read, best first; none where the keyspace is not there or is dropped.
    pub fn replicas(&self, keyspace: u32, partition: u16) -> Vec<ShardAddress> {
        let placement = self.shard.placement();
        let placed = placement.keyspace(keyspace);
        let placed = placed.filter(|_| !self.shard.is_dropped(keyspace));
        placed.map_or(Vec::new(), |k| {
            let replicas = k.keyspace.settings.replicas;
            k.replicas(partition, replicas).to_vec()
        })
    }

    /// Whether no majority of a partition's replicas can be reached.
    pub fn lacks_majority(&self, keyspace: u32, partition: u16) -> bool {
        let replicas = self.replicas(keyspace, partition);
        let reached = replicas.iter().filter(|shard| self.is_reachable(**shard));
        reached.count() * 2 <= replicas.len()
    }

    /// Number of a keyspace and of its partitions, by its name.
    pub fn keyspace(&self, name: &str) -> Option<(u32, u16)> {
        let placement = self.shard.placement();
        let placed = placement.named(name)?;
        let id = placed.keyspace.id;
        (!self.shard.is_dropped(id)).then(|| (id, placed.partition_count()))
    }

    /// How many partitions a keyspace has.
    pub fn partition_count(&self, keyspace: u32) -> Option<u16> {
        let placement = self.shard.placement();
        Some(placement.keyspace(keyspace)?.partition_count())
    }

    /// A keyspace's name, for people.
    pub fn keyspace_name(&self, keyspace: u32) -> String {
        let placement = self.shard.placement();
        let placed = placement.keyspace(keyspace);
        placed.map_or_else(|| keyspace.to_string(), |k| k.keyspace.name.clone())
    }

    /// The last record of the shard's log.
    pub fn log_last(&self) -> Index {
        self.shard.log_last()
    }

    /// Whether clients ask for anything here.
    pub fn has_requests(&self) -> bool {
        self.shard.latency().p99_us() > 0
    }

    /// Bytes of its log behind a record, roughly.
    pub fn log_bytes_behind(&self, index: Index) -> u64 {
        let segments: Vec<Segment> = self.shard.segments().iter().map(Segment::of).collect();
        bytes_behind(&segments, index)
    }

    /// Bytes of one record of its log, on average.
    pub fn log_record_bytes(&self) -> u64 {
        let before = self.shard.log_first().saturating_sub(1);
        let records = self.shard.log_last().saturating_sub(before);
        self.log_bytes_behind(before) / records.max(1)
    }

    /// Number of the keyspace that capabilities keep their own in; none before the first has anything.
    pub fn system(&self) -> Option<u32> {
        self.keyspace(SYSTEM_KEYSPACE).map(|(id, _)| id)
    }

    /// The same, made if there is none.
    ///
    /// # Errors
    /// As of making a keyspace.
    pub async fn make_system(&self) -> Result<u32, Rejected> {
        match self.system() {
            Some(id) => Ok(id),
            None => crate::api::make_system(&self.shard).await,
        }
    }

    /// Whether this keyspace is dropped, or not known.
    pub fn is_gone(&self, keyspace: u32) -> bool {
        self.shard.placement().keyspace(keyspace).is_none() || self.shard.is_dropped(keyspace)
    }

    /// Whether an origin may have written entries of a partition, as far as placement says.
    pub fn may_write(&self, keyspace: u32, partition: u16, origin: Origin) -> bool {
        let placement = self.shard.placement();
        let placed = placement.keyspace(keyspace);
        placed.is_none_or(|k| k.may_write(address_of(origin), partition))
    }

    /// The views of all keyspaces in use, each with its keyspace's number.
    pub fn views(&self) -> Vec<(u32, ViewRecord)> {
        let placement = self.shard.placement();
        let keyspaces = placement.in_use().map(|k| (k.id, k.views.clone()));
        let shown = keyspaces.filter(|(id, _)| !self.shard.is_dropped(*id));
        let named = |(id, views): (u32, Vec<ViewRecord>)| {
            let views = views.into_iter();
            views.map(move |view| (id, view)).collect::<Vec<_>>()
        };
        shown.flat_map(named).collect()
    }

    /// Changes the views of a keyspace, by its name, and waits until this shard has seen that.
    ///
    /// # Errors
    /// When there is no such keyspace or view, there is one already, or the metadata store does not answer.
    pub async fn change_views(
        &self,
        keyspace: &str,
        change: &ViewChange,
    ) -> Result<Keyspace, Rejected> {
        let changed = self.shard.metadata().change_views(keyspace, change).await?;
        for _ in 0..SEEN_LOOKS {
            let placement = self.shard.placement();
            let now = placement.named(keyspace).map(|k| &k.keyspace.views);
            if now.is_none_or(|views| *views == changed.views) {
                break;
            }
            tokio::time::sleep(SEEN_PAUSE).await;
        }
        Ok(changed)
    }

    /// The newest value of a key that a majority of its replicas knows, as clients read it; none where there is none.
    ///
    /// # Errors
    /// When too few replicas answer.
    pub async fn read(&self, keyspace: u32, key: &Bytes) -> Result<Option<Item>, Failure> {
        let quorum = self.quorum(keyspace)?;
        let read = self.coordinator.read(keyspace, key, quorum).await?;
        let now_ms = self.now_ms();
        let is_over = |item: &Item| item.expiry_ms.is_some_and(|expiry_ms| expiry_ms <= now_ms);
        Ok(read.filter(|item| !item.tombstone && !is_over(item)))
    }

    /// The first records of a keyspace, by key.
    ///
    /// # Errors
    /// When too few replicas answer.
    pub async fn sample(&self, keyspace: u32, count: usize) -> Result<Vec<Item>, Failure> {
        let quorum = self.quorum(keyspace)?;
        let mut scan = Scan::begin(&self.coordinator, keyspace, Bytes::new(), None, quorum)?;
        let mut sample = Vec::new();
        while sample.len() < count {
            let page = scan.next_page().await?;
            if page.is_empty() {
                break;
            }
            sample.extend(page);
        }
        sample.truncate(count);
        Ok(sample)
    }

    pub(crate) fn quorum(&self, keyspace: u32) -> Result<Quorum, Failure> {
        let placement = self.shard.placement();
        let placed = placement.keyspace(keyspace);
        let placed = placed.ok_or(Failure::UnknownKeyspace)?;
        let replicas = placed.keyspace.settings.replicas;
        let quorum = Quorum::choose(None, None, replicas, placement.member_count());
        quorum.map_err(|_| Failure::Busy)
    }

    /// Whether it knows of any keyspaces yet.
    pub fn has_keyspaces(&self) -> bool {
        self.shard.placement().keyspaces().next().is_some()
    }

    /// The directory of the shard, which the names of a capability's own files begin behind.
    pub fn directory(&self) -> PathBuf {
        self.shard.dir()
    }

    /// What the databases of the process share.
    pub fn resources(&self) -> &SharedResources {
        self.shard.resources()
    }

    /// Threads of a capability's own; in the simulation, the shard's.
    ///
    /// # Errors
    /// When the operating system refuses them.
    pub fn runner(&self, name: &str) -> io::Result<Runner> {
        let env = self.shard.env();
        if env.store_background {
            Runner::thread(&format!("{}-{name}", self.shard.label()))
        } else {
            Ok(env.store_runner.clone())
        }
    }

    /// Threads for a log of a capability's own; in the simulation, those of the shard's log.
    ///
    /// # Errors
    /// When the operating system refuses them.
    pub fn log_runner(&self, name: &str) -> io::Result<Runner> {
        let env = self.shard.env();
        if env.store_background {
            Runner::thread(&format!("{}-{name}", self.shard.label()))
        } else {
            Ok(env.log_runner.clone())
        }
    }

    /// The disk that such a log is on.
    pub fn disk(&self) -> Arc<dyn Disk> {
        self.shard.env().disk.clone()
    }

    /// How the shard's log is written; a capability's own is written the same way.
    pub fn log_options(&self) -> dunlin_log::Options {
        self.shard.config().log_options()
    }

    /// Bytes of the log that are kept for replicas that lag.
    pub fn log_retention_bytes(&self) -> u64 {
        self.shard.config().retention_bytes
    }

    /// Seed of a capability's random choices, another at each start.
    pub fn seed(&self) -> u64 {
        self.shard.env().seed
    }

    /// The shard's clock now, hybrid; none while it must not be trusted.
    ///
    /// # Errors
    /// Why it is not.
    pub fn stamp_clock(&self) -> Result<Version, Failure> {
        self.shard.may_stamp()?;
        Ok(self.shard.clock().now())
    }

    /// Whether another node's clock is known to be wrong: this one's agrees with most others', and not with that one.
    pub fn has_wrong_clock(&self, node: u16) -> bool {
        self.shard.has_wrong_clock(node)
    }

    /// Takes note of a version met elsewhere; false where it is too far ahead.
    pub fn observe(&self, version: Version) -> bool {
        self.shard.clock().observe(version)
    }

    /// Until when an attempt at a write may be stamped that begins now, as decision 24 has it: above `floor`, and up to
    /// `deadline`.
    ///
    /// # Errors
    /// When there is no such moment.
    pub fn attempt_until(&self, floor: Version, deadline: Version) -> Result<Version, Failure> {
        match self.coordinator.window(floor, deadline) {
            Window::Until(until) => Ok(until),
            Window::TooLate => Err(Failure::TooLate),
            Window::TooFarAhead => Err(Failure::TooFarAhead),
        }
    }

    /// How often the shard's event loop stood still: what waited through that may not be wanted any more.
    pub fn stalls(&self) -> u64 {
        self.shard.stalls().count()
    }

    /// Whether what the shard once said may be forgotten here: its directory is a copy, or an older one. To be asked
    /// when it starts.
    pub fn may_have_forgotten(&self) -> bool {
        self.shard.may_have_forgotten()
    }

    /// Grows with every change of the cluster's nodes and keyspaces that is known here.
    pub fn topology_revision(&self) -> u64 {
        self.shard.placement().revision
    }

    /// The transactional keyspaces, dropped ones too, by number.
    pub fn transactional(&self) -> Vec<Arc<Keyspace>> {
        let placement = self.shard.placement();
        placement.transactional().values().cloned().collect()
    }

    /// One of them.
    pub fn transactional_keyspace(&self, id: u32) -> Option<Arc<Keyspace>> {
        self.shard.placement().transactional().get(&id).cloned()
    }

    /// One of them by its name, if it is not dropped.
    pub fn transactional_named(&self, name: &str) -> Option<Arc<Keyspace>> {
        self.shard.placement().transactional_named(name).cloned()
    }

    /// Fails when a keyspace is dropped, as far as is known here.
    ///
    /// # Errors
    /// By whose word it is.
    pub fn serves(&self, keyspace: u32) -> Result<(), Failure> {
        self.shard.serves(keyspace)
    }

    /// Whether a keyspace is dropped, as far as is known here.
    pub fn is_dropped(&self, keyspace: u32) -> bool {
        self.shard.is_dropped(keyspace)
    }

    /// How often a transactional keyspace was dropped and undropped, by the metadata: it is dropped where that is odd.
    pub fn drops_and_undrops(&self, keyspace: u32) -> Option<u64> {
        let placement = self.shard.placement();
        let found = placement.transactional().get(&keyspace)?;
        let named = placement.transactional_named(&found.name);
        let is_in_use = named.is_some_and(|named| named.id == keyspace);
        Some(2 * u64::from(found.undrops) + u64::from(!is_in_use))
    }

    /// A value that counts in `--request-memory` until it has been written to the client.
    ///
    /// # Errors
    /// [`Failure::Full`] where there is no room.
    pub fn counted(&self, value: Bytes) -> Result<Bytes, Failure> {
        crate::api::counted(&self.shard.front().doors, value).map_err(|NoRoom| Failure::Full)
    }

    /// How much `--request-memory` is, in bytes.
    pub fn memory_bytes_max(&self) -> usize {
        self.shard.front().doors.bounds.memory_bytes
    }

    /// Memory of requests, counted in `--request-memory` until it is dropped; empty as yet.
    pub fn memory(&self) -> Memory {
        Memory(self.shard.front().doors.account())
    }

    /// Whether a keyspace's data is to go.
    pub fn is_purged(&self, keyspace: u32) -> bool {
        self.shard.placement().is_purged(keyspace)
    }

    /// Notes in a keyspace's record that a replica of each of these ranges was made, or that all of it were.
    ///
    /// # Errors
    /// When the metadata store does not answer.
    pub async fn ranges_made(
        &self,
        keyspace: u32,
        made: &BTreeMap<u16, Option<RangeReplica>>,
    ) -> Result<(), MetadataError> {
        self.shard.metadata().ranges_made(keyspace, made).await
    }

    /// Publishes the replicas of a keyspace's ranges in its record.
    ///
    /// # Errors
    /// When the metadata store does not answer.
    pub async fn publish_ranges(
        &self,
        keyspace: &Keyspace,
        now: &[RangeReplicas],
    ) -> Result<(), MetadataError> {
        let metadata = self.shard.metadata();
        metadata.publish_ranges(keyspace.id, now).await
    }

    /// Plans where the replicas of ranges should be, unless they are as planned in a topology that was `seen` here; says
    /// of how many keyspaces.
    ///
    /// # Errors
    /// When the metadata store does not answer.
    pub async fn plan_ranges(
        &self,
        seen: &mut Option<Arc<Topology>>,
    ) -> Result<usize, MetadataError> {
        let metadata = self.shard.metadata();
        let now = metadata.topology().borrow().clone();
        if seen.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, &now)) {
            return Ok(0);
        }
        if !plan_places(&now).is_empty() {
            return metadata.plan_ranges().await;
        }
        *seen = Some(now);
        Ok(0)
    }

    /// Gives a range the target that an operator wants; answers with its number.
    ///
    /// # Errors
    /// When there is no such range or the target makes no sense, or the metadata store does not answer.
    pub async fn retarget_range(
        &self,
        keyspace: &str,
        number: u16,
        wish: &Retarget,
    ) -> Result<u64, Rejected> {
        let metadata = self.shard.metadata();
        Ok(metadata.retarget_range(keyspace, number, wish).await?)
    }

    /// Has a range that has lost its majority begin again with one replica.
    ///
    /// # Errors
    /// When something has changed since the survey of all shards, or the metadata store does not answer.
    pub async fn recover_range(
        &self,
        keyspace: &str,
        number: u16,
        by: &Recover,
    ) -> Result<Keyspace, Rejected> {
        let metadata = self.shard.metadata();
        Ok(metadata.recover_range(keyspace, number, by).await?)
    }

    /// The shards of all nodes, and whether their node is gone for good.
    pub fn all_shards(&self) -> Vec<(ShardAddress, bool)> {
        let topology = self.shard.metadata().topology().borrow().clone();
        let of_node = |node: &NodeRecord| {
            let (node, is_gone) = (node.id, is_gone(&topology, node.id));
            let shards = 0..topology.node(node).map_or(0, |node| node.shards);
            shards.map(move |shard| (ShardAddress { node, shard }, is_gone))
        };
        topology.nodes.iter().flat_map(of_node).collect()
    }

    /// The name of a node.
    pub fn node_name(&self, id: u16) -> String {
        let topology = self.shard.metadata().topology().borrow().clone();
        let node = topology.node(id);
        node.map_or_else(|| id.to_string(), |node| node.name.clone())
    }

    /// The number of a node.
    pub fn node_named(&self, name: &str) -> Option<u16> {
        let topology = self.shard.metadata().topology().borrow().clone();
        topology.node_named(name).map(|node| node.id)
    }

    /// The pauses of a copy, each after so many bytes that took so long: so that clients of this shard wait no longer than
    /// `--move-latency`.
    pub fn copy_throttle(&self) -> impl FnMut(usize, Duration) -> Duration + use<> {
        let shard = self.shard.clone();
        let mut rate = Pace::new(shard.config().move_latency_us_p99);
        move |bytes, spent| rate.pause(bytes, spent, shard.latency().p99_us())
    }

    /// How far clocks may be apart, in milliseconds.
    pub fn clock_bound_ms(&self) -> u64 {
        let clock = self.shard.clock();
        clock.limit().millis().saturating_sub(clock.now_ms())
    }

    /// Whether databases may work on threads of their own.
    pub fn has_background(&self) -> bool {
        self.shard.env().store_background
    }

    /// The cluster's number, which tokens carry.
    pub fn cluster_number(&self) -> u128 {
        self.shard.cluster_number()
    }

    /// A number that differs from call to call.
    pub fn next_turn(&self) -> usize {
        self.shard.next_turn()
    }

    /// Milliseconds since 1970 by the shard's clock.
    pub fn now_ms(&self) -> u64 {
        self.shard.clock().now_ms()
    }

    /// Deliberate bugs, for the simulation to find.
    pub fn sabotage(&self) -> crate::Sabotage {
        self.shard.env().sabotage
    }

    /// A capability's part at this shard, by its type.
    pub fn find<P: Plugged>(&self) -> Option<Rc<P>> {
        let mut plugged = self.plugged.iter();
        plugged.find_map(|plug| {
            let plug: Rc<dyn Any> = plug.clone();
            plug.downcast().ok()
        })
    }

    /// The plugged capability of this number.
    pub(crate) fn plugged(&self, number: u8) -> Option<&Rc<dyn Plugged>> {
        self.plugged.iter().find(|plug| plug.number() == number)
    }

    /// What a path takes that the node does not know, and whose it is.
    pub(crate) fn plugged_rules(&self, path: &str) -> Option<(&Rc<dyn Plugged>, &'static [Rule])> {
        let parts: Vec<&str> = path.strip_prefix("/v1/")?.split('/').collect();
        let mut plugged = self.plugged.iter();
        plugged.find_map(|plug| Some((plug, plug.rules(&parts)?)))
    }
}
