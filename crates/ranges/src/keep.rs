//! At each shard: opens log and store when the first replica is to be there, looks after its replicas, flushes, and
//! releases what of the log is not needed any more.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::time::Duration;

use dunlin_metadata::RangeReplica;
use dunlin_node::{Sabotage, Services};
use dunlin_raftlog::{Position, RaftLog, TAIL_BYTES};
use dunlin_versions::{Meta, Store};
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, sleep};

use crate::group::{Group, address_of, applied, range_id};
use crate::health::Health;
use crate::plug::{Part, limits};
use crate::ranges::{AtShard, COPIES_MAX};

/// How often it is looked which replicas there should be, while there are others.
const LOOK: Duration = Duration::from_millis(50);
/// The same where all are there and the topology has not changed.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Pause before what failed is tried again.
const RETRY: Duration = Duration::from_secs(5);
/// How often it is looked whether there is anything to flush.
const FLUSH_LOOK: Duration = Duration::from_secs(1);
/// Entries in memory beyond the tails of all groups, in tails of one: above it the store is flushed so that some may go.
const TAILS: usize = 6;
/// Of the log that is kept for replicas that lag, one part in so many is a group's tail in memory.
const TAIL_PART: u64 = 64;
/// The least that it is.
const TAIL_BYTES_MIN: usize = 4 << 10;

/// Whether groups with so many bytes in memory have enough of them that a flush would let go: a tail of each stays.
fn is_above_tails(bytes: impl Iterator<Item = usize>, tail_bytes: usize) -> bool {
    let above: usize = bytes.map(|bytes| bytes.saturating_sub(tail_bytes)).sum();
    above >= TAILS * tail_bytes
}

/// Looks after the replicas of a shard for as long as it runs.
pub(crate) async fn keep(services: Weak<Services>, may_have_forgotten: bool) {
    let mut flush_at = Instant::now() + FLUSH_LOOK;
    // The revision at which all replicas were there, and until when that is believed.
    let mut complete: Option<(u64, Instant)> = None;
    while let Some(services) = services.upgrade() {
        if let Some(part) = services.find::<Part>() {
            // From the start on, and often: it notices when the clock leaps.
            part.steady_ms(&services);
        }
        let revision = services.topology_revision();
        let is_complete =
            complete.is_some_and(|(of, until)| of == revision && Instant::now() < until);
        let mut pause = LOOK;
        if !is_complete {
            complete = None;
            match look(&services, may_have_forgotten).await {
                Ok(true) => complete = Some((revision, Instant::now() + LOOK_AGAIN)),
                Ok(false) => {}
                Err(why) => {
                    tracing::warn!(why, "the ranges of a shard are not as they should be");
                    pause = RETRY;
                }
            }
        }
        let own = crate::plug::at_shard(&services);
        if let Some(own) = own.filter(|_| Instant::now() >= flush_at) {
            own.keep_small(&services).await;
            flush_at = Instant::now() + FLUSH_LOOK;
        }
        drop(services);
        sleep(pause).await;
    }
}

/// Ranges of which this shard is to hold a replica, by their records.
pub(crate) fn wanted(services: &Services) -> BTreeMap<u64, RangeReplica> {
    let own = services.shard().address();
    let mut all = BTreeMap::new();
    for keyspace in services.transactional() {
        for range in &keyspace.ranges {
            let here = range.replicas.iter().filter(|r| address_of(r) == own);
            // The newer takes the place of one that is lost.
            if let Some(replica) = here.max_by_key(|replica| replica.id) {
                all.insert(range_id(keyspace.id, range.number.into()), *replica);
            }
        }
    }
    all
}

/// Takes the replicas one step further; whether all that should be here are, and no others.
async fn look(services: &Rc<Services>, may_have_forgotten: bool) -> Result<bool, String> {
    let wanted = wanted(services);
    let part = services.find::<Part>().ok_or("it is not plugged in")?;
    let opened = part.at_shard.borrow().clone();
    let is_needed = !wanted.is_empty() || part.is_offered.get();
    let own = match opened {
        Some(own) => own,
        None if !is_needed && !part.was_opened.get_or_init(|| was_opened(services)) => {
            // Another shard may offer a replica.
            return Ok(false);
        }
        None => match open(services, may_have_forgotten).await {
            Ok(own) => {
                *part.at_shard.borrow_mut() = Some(own.clone());
                *part.trouble.borrow_mut() = None;
                own
            }
            Err(why) => {
                *part.trouble.borrow_mut() = Some(why.clone());
                return Err(why);
            }
        },
    };
    let held = own.store.groups().map_err(|error| error.to_string())?;
    own.advance_all(services, &wanted, &held).await?;
    own.let_go(services, &held).await?;
    let groups = own.groups.borrow();
    let is_idle = own.silent.borrow().is_empty() && own.busy.borrow().is_empty();
    Ok(is_idle && groups.keys().eq(wanted.keys()) && held.keys().eq(wanted.keys()))
}

/// Whether an earlier start has held ranges here, of which some may have to go.
fn was_opened(services: &Services) -> bool {
    let log = services.directory().join("ranges").join("log");
    services
        .disk()
        .list(&log)
        .is_ok_and(|files| !files.is_empty())
}

async fn open(services: &Rc<Services>, may_have_forgotten: bool) -> Result<Rc<AtShard>, String> {
    let dir = services.directory().join("ranges");
    let sabotage = services.sabotage();
    let runner = services.log_runner("ranges").map_err(|e| e.to_string())?;
    let keeps_higher = sabotage == Sabotage::KeepHigherEntries;
    let (disk, options) = (services.disk(), services.log_options());
    let log = RaftLog::open(
        disk,
        runner.clone(),
        &dir.join("log"),
        options,
        keeps_higher,
    )
    .await;
    let log = log.map_err(|error| format!("the log of ranges: {error}"))?;
    let (path, resources) = (dir.join("store"), services.resources().clone());
    let has_background = services.has_background();
    let opened = runner.run_behind(move || {
        // RocksDB makes one directory, not those above it.
        make_parents(&path)?;
        let mut store = Store::open(&path, &resources, has_background)?;
        store.keeps_cached = sabotage == Sabotage::KeepCachedRow;
        store.clear_left_over()?;
        if may_have_forgotten {
            for (group, meta) in store.groups()? {
                store.set(
                    group,
                    &Meta {
                        is_mute: true,
                        ..meta
                    },
                )?;
            }
            store.flush()?;
        }
        let place = store.free_place()?;
        Ok::<_, dunlin_versions::StoreError>((store, place))
    });
    let opened = opened.await.map_err(|gone| gone.to_string())?;
    let (store, place) = opened.map_err(|error| error.to_string())?;
    let own = Rc::new(AtShard {
        services: Rc::downgrade(services),
        log,
        store,
        runner,
        sabotage,
        groups: RefCell::default(),
        silent: RefCell::default(),
        busy: RefCell::default(),
        outgoing: RefCell::default(),
        dirty: RefCell::default(),
        wake: Notify::new(),
        next_place: Cell::new(place),
        copies: Semaphore::new(COPIES_MAX),
        scans: Cell::default(),
        health: Health::default(),
        is_clearing: Cell::new(false),
        unapplied_bytes: Cell::default(),
    });
    let driven = own.clone();
    tokio::task::spawn_local(async move { driven.log.log().drive().await });
    tokio::task::spawn_local(own.clone().drive());
    tokio::task::spawn_local(own.clone().tend());
    tokio::task::spawn_local(own.clone().conduct());
    tokio::task::spawn_local(own.clone().publish());
    Ok(own)
}

#[allow(
    clippy::disallowed_methods,
    reason = "where RocksDB's files are, which no Env knows"
)]
fn make_parents(path: &std::path::Path) -> Result<(), dunlin_versions::StoreError> {
    std::fs::create_dir_all(path).map_err(|e| dunlin_versions::StoreError::Io(e.to_string()))
}

impl AtShard {
    /// Flushes what is applied where the log or the memory it takes has grown, and lets go of what is not needed then.
    async fn keep_small(self: &Rc<Self>, services: &Services) {
        let kept_ms = (services.now_ms()).saturating_sub(limits(services).retention_ms());
        let keep_from = |group: &Rc<Group>| {
            let meta = group.meta.get();
            // Nobody reads below the watermark of a range.
            let from_ms = if group.is_oracle {
                kept_ms
            } else {
                meta.watermark.millis()
            };
            (meta.place, from_ms)
        };
        let keep_from = self.groups.borrow().values().map(keep_from).collect();
        self.store.keep_from_ms(keep_from);
        if self.store.is_worn() && !self.is_clearing.replace(true) {
            let own = self.clone();
            tokio::task::spawn_local(async move {
                if let Err(why) = own.apart(Store::clear_worn).await {
                    tracing::warn!(why, "deleted keys of ranges are not removed");
                }
                own.is_clearing.set(false);
            });
        }
        let holds = self.holds();
        let is_long = self.log.is_long();
        let tail_bytes = (services.log_retention_bytes() / TAIL_PART) as usize;
        let tail_bytes = tail_bytes.clamp(TAIL_BYTES_MIN, TAIL_BYTES);
        let is_large = {
            let groups = self.groups.borrow();
            // Bytes that are held do not go by flushing.
            let flushable = groups.iter().filter(|(id, _)| !holds.contains_key(id));
            let bytes = flushable.map(|(_, group)| group.storage.log().borrow().bytes());
            is_above_tails(bytes, tail_bytes)
        };
        if !is_large && !is_long {
            return;
        }
        let Ok(metas) = self.store.groups() else {
            return;
        };
        let flushed: BTreeMap<u64, Position> = (metas.into_iter())
            .map(|(id, meta)| (id, applied(&meta)))
            .collect();
        if let Err(why) = self.flush().await {
            tracing::warn!(why, "the store of ranges is not flushed");
            return;
        }
        for (id, position) in &flushed {
            if let Some(log) = self.log.group(*id) {
                let held = holds.get(id).copied().unwrap_or(u64::MAX);
                log.borrow_mut().trim(position.index.min(held), tail_bytes);
            }
        }
        if is_long && let Err(error) = self.log.release(|id| flushed.get(&id).copied()).await {
            tracing::warn!(%error, "the log of ranges is not released");
        }
    }

    /// The ranges whose entries are held in memory for copies, with the index behind which they are.
    fn holds(&self) -> BTreeMap<u64, u64> {
        let groups = self.groups.borrow();
        let held = groups.iter();
        let held =
            held.filter_map(|(id, group)| Some((*id, group.hold_from(&group.node.borrow())?)));
        held.collect()
    }

    /// Everything applied goes to the disk.
    pub async fn flush(&self) -> Result<(), String> {
        self.behind(Store::flush).await
    }
}

#[cfg(test)]
#[path = "keep_tests.rs"]
mod tests;
