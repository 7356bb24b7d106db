//! Opening a shard: the log is the truth; what the store misses of it is applied again.

use std::cell::{Cell, RefCell};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use dunlin_entry::{DecodeError, Entry, Kind, Vector, Version};
use dunlin_log::disk::Disk;
use dunlin_log::{CursorError, Log};
use dunlin_metadata::{Keyspace, NodeRecord, Sync};
use dunlin_store::{Store, StoreError, StoreOptions};
use tokio::time::Instant;

use super::backlog::{Backlog, memtable_bytes_max};
use super::copies::Copies;
use super::coverage::Covering;
use super::dropped::Drops;
use super::flush::{GraceTable, Unflushed, vector_of};
use super::front::Front;
use super::ingest::expect_ingested;
use super::latency::Latency;
use super::mark::{Found, Mark};
use super::past::{self, Doubt, Evidence, doubt};
use super::purge::Purge;
use super::refill::{REFILL_FILE, Refill, begun, note};
use super::slow::Slow;
use super::stall::Stalls;
use super::trust::Comparison;
use super::twins::Twins;
use super::{Counters, Shard, ShardParts};
use crate::clock::HybridClock;
use crate::follow::{Bound, Coverage, Found as Start, Note, Pins, Source};
use crate::limits::PAGE_BYTES;
use crate::placement::Placement;
use crate::replication::acks::AckTracker;
use crate::sabotage::Sabotage;

/// Why a shard does not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The log is damaged, or its directory unusable.
    #[error("{0}")]
    Log(#[from] dunlin_log::OpenError),
    /// The log cannot be read to its end.
    #[error("reading the log: {0}")]
    Read(#[from] CursorError),
    /// The store is damaged, or its directory unusable.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// A log record passes its checksum but makes no sense.
    #[error(
        "log record {index} is not an entry: {error}: remove this node's data directory and start it again; it will copy its data from the other replicas"
    )]
    Record {
        /// Which.
        index: u64,
        /// What is wrong with it.
        error: DecodeError,
    },
    /// The log begins after what the store contains.
    #[error(
        "the store in {store} ends at log record {applied} but the log begins at {first}: remove this node's data directory and start it again; it will copy its data from the other replicas"
    )]
    Gap {
        /// The store's directory.
        store: PathBuf,
        /// Last record it contains.
        applied: u64,
        /// First record of the log.
        first: u64,
    },
    /// The first segment could not be begun.
    #[error("the log takes no records: {0}")]
    Begin(#[from] dunlin_log::AppendError),
}

impl Shard {
    /// Opens log and store in `data/shard-N` and brings the store up to the log.
    ///
    /// # Errors
    /// When either is damaged or their disk unusable.
    pub async fn open(parts: ShardParts) -> Result<Rc<Shard>, OpenError> {
        let dir = parts
            .config
            .data
            .join(format!("shard-{}", parts.address.shard));
        let disk = &*parts.env.disk;
        let machine = &*parts.env.machine;
        let unusable = |source| dunlin_log::OpenError::Io {
            path: dir.clone(),
            source,
        };
        let mark = Mark::now(parts.incarnation, machine);
        let found = Mark::load(disk, machine, &dir);
        // What is cut off a log that was not closed must not be forgotten should this start end
        // before it has said so.
        if let Found::Mark {
            mark: before,
            is_original: true,
        } = &found
            && before.boot != mark.boot
            && before.closed_at.is_none()
            && !before.recovering
        {
            let before = Mark {
                recovering: true,
                ..before.clone()
            };
            before.store(disk, machine, &dir).map_err(unusable)?;
        }
        // Before the log is opened, which writes to it.
        let is_put_back = newest_segment(disk, &dir.join("log"))
            .map_err(unusable)?
            .is_some_and(|segment| machine.is_put_back(&segment));
        if past::is_put_back(&found, is_put_back) && begun(disk, &dir) != Some(Doubt::Restored) {
            note(disk, &dir.join(REFILL_FILE), Doubt::Restored).map_err(unusable)?;
        }
        let (log, recovered) = Log::open(
            parts.env.disk.clone(),
            parts.env.log_runner.clone(),
            &dir.join("log"),
            parts.config.log_options(),
        )
        .await?;
        if let Some(torn) = &recovered.torn {
            tracing::warn!(
                file = torn.file,
                offset = torn.offset,
                cut_bytes = torn.cut_bytes,
                "the log's last write was torn; what was not acknowledged is cut"
            );
        }
        let grace = GraceTable::new(parts.env.clock.clone());
        let store = open_store(&parts, &dir.join("store"), &grace)?;
        let origin = parts.origin();
        let ingested = expect_ingested(&*parts.env.disk, &dir, &store);
        let unflushed = Unflushed::default();
        let bound_ms = match parts.env.sabotage {
            Sabotage::FollowAnyClock => u64::MAX,
            _ => parts.config.clock_bound_ms,
        };
        let limit = Version::new(parts.env.clock.now_ms(), 0).plus_ms(bound_ms);
        let Replayed {
            vector,
            copied,
            floor,
            clock_floor,
        } = replay(
            &log,
            &store,
            dir.join("store"),
            &unflushed,
            limit,
            begun(disk, &dir).is_some(),
            memtable_bytes_max(&parts.config),
        )
        .await?;
        let empty = log.last() == 0;
        let (is_alone, is_lax) = {
            let topology = parts.metadata.topology().borrow().clone();
            let is_here = |node: &NodeRecord| node.id == parts.address.node;
            let is_lax = |k: &Keyspace| k.settings.sync != Sync::Always;
            (
                // Who is not in it has not heard of the cluster yet.
                !topology.nodes.is_empty() && topology.nodes.iter().all(is_here),
                topology.nodes.is_empty() || topology.keyspaces.iter().any(is_lax),
            )
        };
        let doubt = doubt(&Evidence {
            found,
            boot: mark.boot.clone(),
            begun: begun(disk, &dir),
            is_empty: empty,
            is_alone,
            is_torn: recovered.torn.is_some(),
            is_lax,
            known_incarnation: parts.known_incarnation,
            incarnation: parts.incarnation,
            is_put_back,
            last: log.last(),
        });
        // The doubt is on disk before the mark that led to it is replaced, and that before anything
        // is written that it does not speak of.
        let refill = Refill::open(disk, &dir, doubt, log.last(), floor).map_err(unusable)?;
        if refill.is_noted() {
            mark.store(disk, machine, &dir).map_err(unusable)?;
        }
        let start = Start {
            incarnation: parts.incarnation,
            last: log.last(),
            is_doubted: refill.is_begun(),
            newest: floor
                .max(ingested)
                .max(Version::new(parts.env.clock.now_ms(), 0)),
        };
        let note = Note::load(disk, &dir);
        let note = note.filter(|note| note.is_of(parts.remembered_incarnation));
        let coverage = Coverage::begin(note, &start);
        let note = Note::of(&coverage, &coverage.strays, parts.incarnation);
        if let Err(error) = note.store(disk, &dir) {
            // The next start knows the less.
            tracing::warn!(%error, "what the log covers is not noted");
        }
        if empty {
            log.rotate(Entry::of_vector(&vector).encode())?;
        }
        Ok(Rc::new(Shard {
            slow: Slow::default(),
            stalls: Rc::new(Stalls::new(
                parts.env.clock.clone(),
                parts.config.clock_bound_ms,
            )),
            clock: HybridClock::new(parts.env.clock.clone(), clock_floor, bound_ms),
            front: Front::of(&parts),
            config: parts.config,
            address: parts.address,
            origin,
            env: parts.env,
            metadata: parts.metadata,
            directory: parts.process.directory.clone(),
            log,
            store,
            resources: parts.process.resources.clone(),
            counters: Counters::default(),
            vector: RefCell::new(vector),
            placement: RefCell::new(Rc::new(Placement::default())),
            observers: RefCell::default(),
            peers: RefCell::default(),
            slots: RefCell::default(),
            acks: RefCell::new(AckTracker::default()),
            applying: RefCell::default(),
            quiet: Rc::default(),
            store_stuck: RefCell::default(),
            flush_failed: RefCell::default(),
            backlog: Backlog::default(),
            pins: Pins::default(),
            feeds: RefCell::new(None),
            ranges: RefCell::new(None),
            read_turns: Rc::default(),
            held: super::held::Held::default(),
            copies: Copies::found(copied),
            covering: Covering::new(coverage),
            grace,
            unflushed,
            refill,
            purge: Purge::default(),
            drops: Drops::default(),
            ingested: Cell::new(ingested),
            latency: Latency::default(),
            comparison: Comparison::default(),
            counting: Arc::default(),
            noting_width: Rc::default(),
            stopping: Cell::new(false),
            twins: Twins::default(),
            superseded: parts.process.superseded.clone(),
            remembered_incarnation: parts.remembered_incarnation,
            started: Instant::now(),
            was_ready: Cell::new(false),
            has_met_far: Cell::new(false),
            copy_pause: Cell::new(None),
            damage: RefCell::default(),
            leaving: Cell::new(false),
            busy: Rc::default(),
            turn: Cell::new(0),
        }))
    }

    /// Starts the shard's duties on this thread's `LocalSet`.
    pub fn run(self: &Rc<Self>) {
        let log = self.log.clone();
        tokio::task::spawn_local(async move { log.drive().await });
        let topology = self.metadata.topology().borrow().clone();
        self.tell_doubt();
        self.adopt(&topology);
        tokio::task::spawn_local(self.clone().hear_loop());
        tokio::task::spawn_local(self.clone().topology_loop());
        tokio::task::spawn_local(self.clone().superseded_loop());
        tokio::task::spawn_local(self.clone().apply_loop());
        tokio::task::spawn_local(self.clone().flush_loop());
        tokio::task::spawn_local(self.clone().sweep_loop());
        tokio::task::spawn_local(self.clone().lag_loop());
        tokio::task::spawn_local(self.clone().interval_sync_loop());
        tokio::task::spawn_local(self.clone().clock_loop());
        let stalls = self.stalls.clone();
        tokio::task::spawn_local(async move { stalls.watch().await });
        tokio::task::spawn_local(self.clone().purge_loop());
        if self.address.shard == 0 {
            tokio::task::spawn_local(self.clone().drop_delay_loop());
        }
    }

    /// Brings everything to disk; the shard is to be dropped afterwards.
    ///
    /// # Errors
    /// When the disk refuses; what was acknowledged is in the log all the same.
    pub async fn close(&self) -> Result<(), String> {
        self.stopping.set(true);
        let flushed = self.flush().await;
        self.log.close().await.map_err(|e| e.to_string())?;
        if !self.refill.is_noted() {
            return flushed;
        }
        let mark = Mark {
            closed_at: Some(self.log.last()),
            ..Mark::now(self.origin.incarnation(), &*self.env.machine)
        };
        if let Err(error) = mark.store(&*self.env.disk, &*self.env.machine, &self.dir()) {
            // The next start takes it for a crash.
            tracing::warn!(%error, "the shard's mark is not replaced");
        }
        flushed
    }
}

/// The newest file of a log.
fn newest_segment(disk: &dyn Disk, dir: &Path) -> io::Result<Option<PathBuf>> {
    let names = match disk.list(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        names => names?,
    };
    let segments = names.into_iter().filter(|name| name.ends_with(".log"));
    Ok(segments.max().map(|name| dir.join(name)))
}

fn open_store(
    parts: &ShardParts,
    path: &std::path::Path,
    grace: &GraceTable,
) -> Result<Store, StoreError> {
    let clock = parts.env.clock.clone();
    let grace = grace.clone();
    let now_ms = Arc::new(move || clock.now_ms());
    let options = StoreOptions {
        flush_bytes: parts.config.flush_bytes,
        tombstone_grace: Arc::new(move |keyspace| grace.grace(keyspace)),
        auto_compaction: parts.env.store_background,
        ..StoreOptions::new(parts.process.resources.clone(), now_ms)
    };
    // RocksDB syncs what is in its directory, not that there is one.
    let made = parts.env.disk.create_dir_all(path);
    made.map_err(|error| StoreError::Io {
        detail: format!("{}: {error}", path.display()),
    })?;
    Store::open(path, &options)
}

/// What a log was found to hold.
#[derive(Default)]
struct Replayed {
    /// The vector at its end.
    vector: Vector,
    /// The newest of what came as copies in what of it was read.
    copied: Vector,
    /// No version met is greater.
    floor: Version,
    /// The greatest met that is not too far ahead: what the clock goes on from.
    clock_floor: Version,
}

impl Replayed {
    fn meet(&mut self, version: Version, limit: Version) {
        self.floor = self.floor.max(version);
        if version <= limit {
            self.clock_floor = self.clock_floor.max(version);
        }
    }
}

/// Applies what the store misses.
async fn replay(
    log: &Log,
    store: &Store,
    store_path: PathBuf,
    unflushed: &Unflushed,
    limit: Version,
    is_doubted: bool,
    memtable_bytes_max: u64,
) -> Result<Replayed, OpenError> {
    let applied = store.applied();
    if log.last() == 0 {
        match (applied, is_doubted) {
            (0, _) => {}
            // A repair left nothing of the log. What the store holds is compared with what the others
            // hold, as that of an emptied shard would be.
            (_, true) => store.rewind(0)?,
            (_, false) => {
                return Err(OpenError::Gap {
                    store: store_path,
                    applied,
                    first: 1,
                });
            }
        }
        return Ok(Replayed::default());
    }
    if applied + 1 < log.first() {
        return Err(OpenError::Gap {
            store: store_path,
            applied,
            first: log.first(),
        });
    }
    if applied > log.last() {
        // The log was cut by a repair. What it lost is still in the store, with its stamps.
        tracing::warn!(applied, last = log.last(), "the log ends before the store");
        store.rewind(log.last())?;
    }
    let segments = log.segments();
    let mut vector = segments
        .last()
        .and_then(|s| vector_of(&s.preamble))
        .unwrap_or_default();
    let vector_from = segments.last().map_or(0, |s| s.first_index);
    let mut met = Replayed::default();
    for (_, version) in vector.iter() {
        met.meet(version, limit);
    }
    let mut copied = Vector::new();
    let from = (applied + 1).min(vector_from).max(log.first());
    let mut source = Source::new(log.clone(), from, Bound::UpTo(log.last()));
    while let Some(records) = source.next(PAGE_BYTES).await? {
        let mut entries = Vec::new();
        let mut end = 0;
        for (index, record) in records {
            let entry =
                Entry::decode(record).map_err(|error| OpenError::Record { index, error })?;
            end = index;
            met.meet(entry.stamp.version, limit);
            met.meet(entry.position().sequence, limit);
            if index >= vector_from {
                absorb(&mut vector, &entry, index)?;
            }
            if entry.copy && entry.kind != Kind::Vector {
                let position = entry.position();
                copied.advance(position.origin, position.sequence);
            }
            if index > applied && entry.kind != Kind::Vector {
                entries.push(entry);
            }
        }
        if end > applied {
            store.apply(&entries, end)?;
            unflushed.applied(&entries);
            // Opening has synced the log. Where there is no room for a flush memory must do.
            if store.memtable_bytes() >= memtable_bytes_max && store.has_room() {
                store.flush_begin()?;
                store.flush_wait()?;
            }
        }
    }
    Ok(Replayed {
        vector,
        copied,
        ..met
    })
}

fn absorb(vector: &mut Vector, entry: &Entry, index: u64) -> Result<(), OpenError> {
    if entry.kind == Kind::Vector {
        let told =
            Vector::decode(&entry.value).map_err(|error| OpenError::Record { index, error })?;
        vector.merge(&told);
    } else if !entry.copy {
        let position = entry.position();
        vector.advance(position.origin, position.sequence);
    }
    Ok(())
}
