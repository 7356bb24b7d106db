//! One host: a node with its disk and its clock, started as often as need be.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use dunlin_changes::Changes;
use dunlin_entry::cluster_number;
use dunlin_history::Recorder;
use dunlin_links::Links;
use dunlin_log::sim::SimDisk;
use dunlin_log::{Compression, Padding, Runner};
use dunlin_metadata::{Cluster, Metadata, NodeRecord, sim::SimStore};
use dunlin_node::plug::Plug;
use dunlin_node::{Env, NodeConfig, Process, Sabotage, Services, Shard, ShardParts, Starts};
use dunlin_proto::{Introduction, ShardAddress};
use dunlin_ranges::{Limits, Ranges};
use dunlin_rpc::{Status, Transport, accept};
use dunlin_secret::{Door, Guard, Mode, NoRandomness, Nonce, Nonces, Secrets};
use dunlin_store::CacheSizes;
use dunlin_views::{Engines, Views};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::sync::Notify;
use tokio::time::sleep;

use super::clock::{SimClock, SimTime};
use super::front;
use super::hang::Hang;
use super::machine::SimMachine;
use super::pause::Pause;
use super::transport::SimTransport;
use crate::followers::{self, Followers};
use crate::history::History;
use crate::links::SimLines;
use crate::plan::{Plan, pick};
use crate::txns::Txns;

/// Port on which nodes listen for one another.
const PORT: u16 = 7000;
/// Longer than anything that is to expire.
const YEAR_MS: i64 = 365 * 86_400_000;
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);
const CACHES: CacheSizes = CacheSizes {
    block_bytes: 8 << 20,
    row_bytes: 1 << 20,
};
/// How often an operator's wish is looked for.
const MEND_PAUSE: Duration = Duration::from_secs(2);
/// The number of all clusters, where that is a deliberate bug.
const SAME_NUMBER: u16 = 77;
/// How long a dropped keyspace can be undropped, in milliseconds.
const DROP_DELAY_MS: u64 = 2_000;
/// Sets the seed of a log's settings apart from those of shards and delays.
const LOG_SETTINGS: u64 = 3 << 16;
/// The same for nonces, and for how a start uses the secret.
const SECRETS: u64 = 4 << 16;
/// As two lines of a secret file; a rotation turns them around.
const TWO_SECRETS: [&[u8]; 2] = [
    b"the first secret\nthe second secret\n",
    b"the second secret\nthe first secret\n",
];

/// What clients are to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Read and write at random.
    Work,
    /// Nothing.
    Quiet,
    /// Read every key through every node.
    FinalReads,
}

/// What all hosts of a run share.
pub struct Shared {
    /// What the seed decided.
    pub plan: Plan,
    /// The cluster's metadata store.
    pub store: SimStore,
    /// The operator's way to it.
    pub metadata: Metadata,
    /// Time since the beginning.
    pub time: SimTime,
    /// What happened so far.
    pub history: RefCell<History>,
    /// What clients are to do.
    pub phase: Cell<Phase>,
    /// The host that is lost for good.
    pub buried: Cell<Option<usize>>,
    /// The machine that runs each node; of two, the one that runs its later process.
    pub machines: RefCell<Vec<usize>>,
    /// Hosts through which a last write has been made.
    pub written_all: RefCell<BTreeSet<usize>>,
    /// Hosts through which the final reads have been made.
    pub read_all: RefCell<BTreeSet<usize>>,
    /// The first thing that was not answered in the end although all was whole.
    pub unanswered: RefCell<Option<String>>,
    /// Those who follow logs.
    pub followers: Followers,
    /// The host on which an operator mends stamps far ahead.
    pub mender: Cell<Option<usize>>,
    /// Numbers of the keyspaces, in the plan's order.
    pub keyspaces: Vec<u32>,
    /// Number of the transactional one, if there is one.
    pub range: Option<u32>,
    /// What its clients did and saw.
    pub ranges: Recorder,
    /// Transactions over its ranges.
    pub txns: Txns,
    /// The last value given to one of them.
    pub last_range_value: Cell<u64>,
    /// A majority of its replicas has lost what it held.
    pub is_range_lost: Cell<bool>,
    /// The way to other clusters, where there are any.
    pub lines: Option<Arc<SimLines>>,
}

impl Shared {
    /// Of a cluster that runs by a plan; its keyspaces in the plan's order.
    pub fn new(
        plan: Plan,
        (store, metadata): (SimStore, Metadata),
        time: SimTime,
        (keyspaces, range): (Vec<u32>, Option<u32>),
        lines: Option<Arc<SimLines>>,
    ) -> Rc<Shared> {
        Rc::new(Shared {
            store,
            metadata,
            time,
            history: RefCell::new(History::default()),
            phase: Cell::new(Phase::Work),
            buried: Cell::new(None),
            machines: RefCell::new((0..plan.nodes).collect()),
            written_all: RefCell::default(),
            read_all: RefCell::default(),
            followers: Followers::new(&plan, &keyspaces),
            mender: Cell::default(),
            unanswered: RefCell::default(),
            keyspaces,
            range,
            ranges: Recorder::default(),
            txns: Txns::default(),
            last_range_value: Cell::new(0),
            is_range_lost: Cell::new(false),
            lines,
            plan,
        })
    }

    /// How far off clocks of other nodes may be that a node puts up with.
    fn clock_bound_ms(&self) -> u64 {
        let lines = self.lines.as_ref();
        // Bad clocks are up to ten seconds off to either side.
        lines.map_or(30_000, |lines| lines.clock_bound_ms)
    }

    /// Notes an event at the present time.
    pub fn note(&self, text: String) {
        self.history.borrow_mut().note(self.time.elapsed_ms(), text);
    }

    /// Mixes something that happened into the trace.
    pub fn mix(&self, what: impl std::fmt::Debug) {
        self.history.borrow_mut().mix(what);
    }

    /// A value for the transactional keyspace that nobody else writes.
    pub fn next_range_value(&self) -> u64 {
        self.last_range_value.set(self.last_range_value.get() + 1);
        self.last_range_value.get()
    }

    /// Whether a keyspace is in use, neither dropped nor purged.
    pub fn is_in_use(&self, keyspace: &str) -> bool {
        let topology = self.metadata.topology().borrow().clone();
        topology.keyspaces.iter().any(|k| k.name == keyspace)
    }

    /// Hosts that are not lost for good.
    pub fn nodes_left(&self) -> usize {
        self.plan.nodes - usize::from(self.buried.get().is_some())
    }

    /// Nodes that hold data, now and after the change under way.
    pub fn members_min(&self) -> u8 {
        let topology = self.metadata.topology().borrow().clone();
        let members = &topology.members;
        let to = members.change.as_ref().map_or(&members.ids, |c| &c.to);
        members.ids.len().min(to.len()) as u8
    }
}

/// A machine of the cluster.
pub struct Host {
    /// Its place among the machines.
    pub machine: usize,
    /// Its name as a machine.
    pub name: String,
    /// The node it is, by its place; none for a spare machine.
    pub node: Cell<Option<usize>>,
    /// Where its stores are; its logs are on `disk`.
    pub data: PathBuf,
    /// The disk of its logs.
    pub disk: SimDisk,
    /// Its clock.
    pub clock: Arc<SimClock>,
    /// The node's shards while there are any.
    pub shards: RefCell<Vec<Weak<Shard>>>,
    /// The same with their capabilities, while it runs.
    pub services: RefCell<Vec<Weak<Services>>>,
    /// Last log record in each shard's SST files when the node last ended.
    pub flushed: RefCell<BTreeMap<u16, u64>>,
    /// Starts so far.
    pub starts: Cell<u64>,
    /// Times the machine lost power.
    pub power_losses: Cell<u64>,
    /// The starts that the node's directory knows of.
    pub known: Cell<Starts>,
    /// Why the node did not start, if so.
    pub failure: RefCell<Option<String>>,
    /// Asks the node to stop as an operator does.
    pub stop: Notify,
    /// The node has stopped as asked.
    pub stopped: Cell<bool>,
    /// Holds the process.
    pub pause: Pause,
    /// Its disk, as far as logs wait for it.
    pub hang: Hang,
    /// What the run's hosts share.
    pub shared: Rc<Shared>,
}

impl Host {
    /// The machine with this number and name, that runs `node`; what it has is under `data`.
    pub fn new(
        (machine, name): (usize, String),
        node: Option<usize>,
        data: &Path,
        disk_seed: u64,
        skew_ms: i64,
        shared: &Rc<Shared>,
    ) -> Rc<Host> {
        Rc::new(Host {
            machine,
            node: Cell::new(node),
            data: data.join(&name),
            name,
            disk: SimDisk::new(disk_seed),
            clock: Arc::new(SimClock::new(shared.time.clone(), skew_ms)),
            shards: RefCell::default(),
            services: RefCell::default(),
            flushed: RefCell::default(),
            starts: Cell::new(0),
            power_losses: Cell::new(0),
            known: Cell::default(),
            failure: RefCell::default(),
            stop: Notify::new(),
            stopped: Cell::new(false),
            pause: Pause::default(),
            hang: Hang::default(),
            shared: shared.clone(),
        })
    }

    /// The place of the node it runs as; of a spare machine, one that no node has.
    pub fn number(&self) -> usize {
        self.node.get().unwrap_or(usize::MAX)
    }

    /// Starts the node and serves until the host crashes. What keeps it from starting stands in `failure`.
    pub async fn run(self: Rc<Self>) -> turmoil::Result {
        let process = async {
            if let Err(error) = self.clone().start().await {
                *self.failure.borrow_mut() = Some(self.told(&error));
            }
            std::future::pending::<()>().await;
            Ok(())
        };
        self.pause.run(process).await
    }

    async fn start(self: Rc<Self>) -> Result<(), String> {
        let Some(number) = self.node.get() else {
            return Ok(());
        };
        let node = node_name(number);
        let shared = self.shared.clone();
        let plan = &shared.plan;
        self.starts.set(self.starts.get() + 1);
        self.stopped.set(false);
        self.forget_stop().await;
        let listen = address_of(&self.name);
        let metadata = shared.store.metadata(&self.name);
        let record = self.register(&metadata, &node, &listen).await;
        let mut known = self.known.get();
        let remembered_incarnation = known.last();
        let known_incarnation = known.begin(record.incarnation, true);
        self.known.set(known);
        let process = Process::new(CACHES, 1).map_err(|e| e.to_string())?;
        let log_settings = log_settings(self.seed(LOG_SETTINGS));
        shared.note(format!(
            "{} writes log blocks of {} bytes, padding {}, compression {}, direct I/O {}",
            self.name,
            log_settings.log_block_size_bytes,
            log_settings.log_padding,
            log_settings.log_compression,
            log_settings.log_direct_io
        ));
        let config = Arc::new(NodeConfig {
            name: node.clone(),
            data: self.data.clone(),
            listen,
            guard: guard(plan, self.seed(SECRETS)),
            shards: plan.shards,
            flush_bytes: plan.flush_bytes,
            retention_bytes: plan.retention_bytes,
            pins_bytes: plan.pins_bytes,
            ingest_bytes: plan.ingest_bytes,
            copy_steps: plan.copy_steps(),
            segment_bytes: plan.segment_bytes,
            clock_bound_ms: shared.clock_bound_ms(),
            plugs: plugs(&shared),
            ..log_settings
        });
        let mut shards = Vec::new();
        for shard in 0..plan.shards {
            let (seed, node) = (self.seed(u64::from(shard)), record.id);
            let parts = ShardParts {
                config: config.clone(),
                cluster: cluster_of(plan, &metadata),
                address: ShardAddress { node, shard },
                incarnation: record.incarnation,
                known_incarnation,
                remembered_incarnation,
                env: self.env(seed),
                metadata: metadata.clone(),
                process: process.clone(),
            };
            let shard = Shard::open(parts).await.map_err(|e| e.to_string())?;
            if !plan.values_only {
                self.store_behind_log(&shard)?;
            }
            shards.push(shard);
        }
        known.noted();
        self.known.set(known);
        let services: Vec<Rc<Services>> = shards.iter().cloned().map(Services::new).collect();
        for services in &services {
            services.run();
        }
        *self.shards.borrow_mut() = shards.iter().map(Rc::downgrade).collect();
        *self.services.borrow_mut() = services.iter().map(Rc::downgrade).collect();
        for shard in &shards {
            tokio::task::spawn_local(compact(self.clone(), shard.clone()));
        }
        if let Some(services) = services.first() {
            tokio::task::spawn_local(mend_stamps(self.clone(), services.clone()));
        }
        if plan.follows {
            for services in &services {
                followers::run(&self, services);
            }
        }
        let front = front::run(services.clone(), self.clock.clone());
        let listener = SimTransport
            .listen(&format!("0.0.0.0:{PORT}"))
            .await
            .map_err(|e| e.to_string())?;
        let served = services.clone();
        let mut superseded = process.superseded();
        let guard = config.guard.clone();
        let serving = accept::run(listener, HELLO_TIMEOUT, guard, move |hello, stream| {
            let wanted = Introduction::decode(hello.body, &node)
                .and_then(|said| Some((served.get(said.shard as usize)?, said)));
            match wanted {
                Some((services, said)) => {
                    tokio::task::spawn_local(services.clone().serve_peer(stream, said));
                }
                None => {
                    tokio::task::spawn_local(async move {
                        accept::refuse(stream, Status::NotServed, b"").await
                    });
                }
            }
        });
        tokio::select! {
            biased;
            () = self.stop.notified() => {}
            _ = superseded.wait_for(Option::is_some) => {
                shared.note(format!("{} ends: its node runs elsewhere", self.name));
            }
            () = serving => {}
            ended = front => ended.map_err(|e| e.to_string())?,
        }
        for services in services {
            if let Err(error) = services.shard().close().await {
                shared.note(format!("{} stops badly: {}", self.name, self.told(&error)));
            }
        }
        self.stopped.set(true);
        Ok(())
    }

    /// Forgets that an earlier life was asked to stop, and ended before it heard of it.
    async fn forget_stop(&self) {
        tokio::select! {
            biased;
            () = self.stop.notified() => {}
            () = std::future::ready(()) => {}
        }
    }

    /// Registers with the metadata store, as soon as it can be reached and has its memory.
    async fn register(&self, metadata: &Metadata, node: &str, listen: &str) -> NodeRecord {
        let mut told = false;
        loop {
            let shards = self.shared.plan.shards;
            match metadata.register(node, "none:1", listen, shards, 0).await {
                Ok(record) => return record,
                Err(_) if told => {}
                Err(error) => {
                    told = true;
                    self.shared.note(format!("{} waits: {error}", self.name));
                }
            }
            sleep(Duration::from_millis(200)).await;
        }
    }

    /// A store never holds what its log could lose: else it might differ from all others for ever.
    fn store_behind_log(&self, shard: &Shard) -> Result<(), String> {
        let flushed = self.flushed.borrow();
        let flushed = flushed.get(&shard.address().shard).copied();
        let last = shard.status().log_last;
        match flushed {
            Some(flushed) if flushed > last => Err(format!(
                "its store holds log records up to {flushed}, but its log ends at {last}"
            )),
            _ => Ok(()),
        }
    }

    /// A message without the temporary directory's name, which is no part of the run.
    fn told(&self, error: &str) -> String {
        error.replace(&*self.data.to_string_lossy(), &self.name)
    }

    /// A seed for something of this host, different at every start.
    pub fn seed(&self, what: u64) -> u64 {
        let mut random = StdRng::seed_from_u64(self.shared.plan.seed);
        let base: u64 = random.random();
        base ^ (self.machine as u64) << 48 ^ self.starts.get() << 24 ^ what
    }

    fn env(&self, seed: u64) -> Env {
        Env {
            clock: self.clock.clone(),
            transport: Arc::new(SimTransport),
            disk: Arc::new(self.disk.clone()),
            machine: Arc::new(SimMachine {
                boots: self.power_losses.get(),
            }),
            log_runner: Runner::inline(
                (self.hang).added_to(delays(seed ^ 1 << 16, self.shared.plan.slow_disks)),
            ),
            store_runner: Runner::inline(delays(seed ^ 2 << 16, false)),
            seed,
            store_background: false,
            sabotage: self.shared.plan.sabotage,
        }
    }

    /// Sets the clock this far ahead of true time.
    pub fn set_clock(&self, offset_ms: i64) {
        self.clock.set(offset_ms);
        let mut history = self.shared.history.borrow_mut();
        let at_ms = self.shared.time.elapsed_ms();
        history.years_ahead(at_ms, self.machine, offset_ms > YEAR_MS);
    }

    /// The node's shards, if it runs.
    pub fn live(&self) -> Vec<Rc<Shard>> {
        self.shards
            .borrow()
            .iter()
            .filter_map(Weak::upgrade)
            .collect()
    }

    /// The same with their capabilities.
    pub fn services(&self) -> Vec<Rc<Services>> {
        self.services
            .borrow()
            .iter()
            .filter_map(Weak::upgrade)
            .collect()
    }
}

/// The number of a node's cluster.
fn cluster_of(plan: &Plan, metadata: &Metadata) -> u16 {
    if plan.sabotage == Sabotage::LinkSameNumber {
        return SAME_NUMBER;
    }
    let topology = metadata.topology().borrow().clone();
    let id = topology.cluster.as_ref().map_or(0, Cluster::number);
    cluster_number(id)
}

/// The capabilities of a run.
fn limits(plan: &Plan) -> Limits {
    if plan.range_faults.forgets {
        Limits {
            idle: Duration::from_secs(2),
            time: Duration::from_secs(5),
            retention: Duration::from_secs(20),
            ..Limits::default()
        }
    } else {
        Limits::default()
    }
}

fn plugs(shared: &Shared) -> Vec<Arc<dyn Plug>> {
    let plan = &shared.plan;
    let mut plugs: Vec<Arc<dyn Plug>> = vec![Arc::new(Changes)];
    if plan.views {
        plugs.push(Arc::new(Views(Engines::InPlace)));
    }
    if plan.ranges {
        plugs.push(Arc::new(Ranges(limits(plan))));
    }
    if let Some(lines) = &shared.lines {
        plugs.push(Arc::new(Links {
            connect: lines.clone(),
            times: lines.times,
        }));
    }
    plugs
}

/// Compacts now and then: that is when tombstones go.
async fn compact(host: Rc<Host>, shard: Rc<Shard>) {
    let mut random = StdRng::seed_from_u64(host.seed(500));
    loop {
        sleep(Duration::from_millis(random.random_range(1_000..4_000))).await;
        if let Err(error) = shard.compact().await {
            tracing::debug!(host = host.name, error, "cannot compact now");
        }
    }
}

/// Runs `dunlin keyspace mend-stamps` for all keyspaces when the operator wants it.
async fn mend_stamps(host: Rc<Host>, services: Rc<Services>) {
    loop {
        sleep(MEND_PAUSE).await;
        if host.shared.mender.get() != Some(host.number()) {
            continue;
        }
        for keyspace in &host.shared.keyspaces {
            let mut next = Some((0, Bytes::new()));
            while let Some(first) = next.take() {
                match services
                    .coordinator()
                    .mend_stamps(*keyspace, first, true)
                    .await
                {
                    Ok(done) => {
                        if done.mended > 0 {
                            let text = format!("{} mends {} stamps", host.name, done.mended);
                            host.shared.note(text);
                        }
                        next = done.next;
                    }
                    Err(error) => tracing::info!(host = host.name, %error, "mends no stamps now"),
                }
            }
        }
    }
}

/// The name of the node at a place: at first, that of its machine.
pub fn node_name(number: usize) -> String {
    format!("n{}", number + 1)
}

/// Where a node listens that runs on a machine.
pub fn address_of(name: &str) -> String {
    format!("{name}:{PORT}")
}

/// What guards the port between nodes at one start of a node: in a run with secrets, any of the modes
/// of one step of a rollout, and any order of the two secrets.
fn guard(plan: &Plan, seed: u64) -> Arc<Guard> {
    let mut random = StdRng::seed_from_u64(seed);
    let mode = *pick(&mut random, plan.secrets.modes());
    if mode == Mode::Off {
        return Guard::off(Door::Peer);
    }
    // Both are whole, or the run is none.
    let text = *pick::<&[u8]>(&mut random, &TWO_SECRETS);
    let secrets = Secrets::parse(text).unwrap_or_else(|error| panic!("{error}"));
    Guard::new(
        Door::Peer,
        mode,
        secrets,
        Box::new(SeededNonces(Mutex::new(random))),
    )
}

/// Nonces that a seed replays.
struct SeededNonces(Mutex<StdRng>);

impl Nonces for SeededNonces {
    fn nonce(&self) -> Result<Nonce, NoRandomness> {
        let mut random = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(random.random())
    }
}

/// How one start of a node writes its logs; earlier ones may have begun the segments that are there
/// in another way. From a generator of its own, so that no other choice of the run depends on it.
fn log_settings(seed: u64) -> NodeConfig {
    let mut random = StdRng::seed_from_u64(seed);
    NodeConfig {
        drop_delay_ms: DROP_DELAY_MS,
        log_block_size_bytes: *pick(&mut random, &[4 << 10, 8 << 10, 16 << 10, 32 << 10]),
        log_padding: *pick(&mut random, &[Padding::Fragment, Padding::Pad]),
        log_compression: *pick(
            &mut random,
            &[Compression::None, Compression::Lz4, Compression::Zstd],
        ),
        log_direct_io: random.random(),
        ..NodeConfig::default()
    }
}

/// How long a disk takes: mostly next to nothing, or mostly not; sometimes much.
fn delays(seed: u64, is_slow: bool) -> impl Fn() -> Duration {
    let random = RefCell::new(StdRng::seed_from_u64(seed));
    move || {
        let mut random = random.borrow_mut();
        let ms = match random.random_range(0..100) {
            0..70 if is_slow => random.random_range(10..=80),
            0..60 => random.random_range(0..=1),
            60..97 => random.random_range(1..=5),
            _ => random.random_range(10..=120),
        };
        Duration::from_millis(ms)
    }
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
