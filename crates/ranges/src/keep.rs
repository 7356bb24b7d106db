//! At each shard: opens log and store when the first replica is to be there, makes replicas, starts them, lets them go;
//! flushes, and releases what of the log is not needed any more.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use dunlin_metadata::{Keyspace, RangeRecord, RangeReplica};
use dunlin_node::plug::ORACLE_KEYSPACE;
use dunlin_node::{Sabotage, Services};
use dunlin_raftlog::{Position, RaftLog, Record, TAIL_BYTES, Vote};
use dunlin_versions::{Meta, Store};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::group::{Group, address_of, applied, keyspace_of, range_id};
use crate::plug::{Part, limits};
use crate::ranges::{AtShard, Silent};
use crate::start::{Recorded, Start, judge};

/// How often it is looked which replicas there should be.
const LOOK: Duration = Duration::from_millis(50);
/// Pause before what failed is tried again.
const RETRY: Duration = Duration::from_secs(5);
/// How often it is looked whether there is anything to flush.
const FLUSH_LOOK: Duration = Duration::from_secs(1);
/// Entries in memory, of all groups, in tails of one: above it the store is flushed so that some may go.
const TAILS: usize = 6;
/// Of the log that is kept for replicas that lag, one part in so many is a group's tail in memory.
const TAIL_PART: u64 = 64;
/// The least that it is.
const TAIL_BYTES_MIN: usize = 4 << 10;

/// Looks after the replicas of a shard for as long as it runs.
pub(crate) async fn keep(services: Weak<Services>, may_have_forgotten: bool) {
    let mut flush_at = Instant::now() + FLUSH_LOOK;
    while let Some(services) = services.upgrade() {
        let pause = match look(&services, may_have_forgotten).await {
            Ok(()) => LOOK,
            Err(why) => {
                tracing::warn!(why, "the ranges of a shard are not as they should be");
                RETRY
            }
        };
        let own = crate::plug::at_shard(&services);
        if let Some(own) = own.filter(|_| Instant::now() >= flush_at) {
            own.keep_small(&services).await;
            flush_at = Instant::now() + FLUSH_LOOK;
        }
        drop(services);
        sleep(pause).await;
    }
}

/// A range of which this shard is to hold a replica.
pub(crate) struct Wanted {
    pub id: u64,
    pub index: usize,
    pub keyspace: Arc<Keyspace>,
    pub replica: RangeReplica,
}

impl Wanted {
    fn record(&self) -> Option<&RangeRecord> {
        self.keyspace.ranges.get(self.index)
    }
}

/// All of them.
pub(crate) fn wanted(services: &Services) -> Vec<Wanted> {
    let own = services.shard().address();
    let mut all = Vec::new();
    for keyspace in services.transactional() {
        for (index, range) in keyspace.ranges.iter().enumerate() {
            let mut replicas = range.replicas.iter();
            if let Some(replica) = replicas.find(|replica| address_of(replica) == own) {
                all.push(Wanted {
                    id: range_id(keyspace.id, index),
                    index,
                    keyspace: keyspace.clone(),
                    replica: *replica,
                });
            }
        }
    }
    all
}

async fn look(services: &Rc<Services>, may_have_forgotten: bool) -> Result<(), String> {
    let wanted = wanted(services);
    let part = services.find::<Part>().ok_or("it is not plugged in")?;
    let opened = part.at_shard.borrow().clone();
    let own = match opened {
        Some(own) => own,
        None if wanted.is_empty() && !part.was_opened.get_or_init(|| was_opened(services)) => {
            return Ok(());
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
    for range in &wanted {
        match own.group(range.id) {
            Some(group) => own.note_drop(services, group),
            None => own.advance(services, range).await?,
        }
    }
    own.let_go(services).await
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
        let store = Store::open(&path, &resources, has_background)?;
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
        outgoing: RefCell::default(),
        wake: Notify::new(),
        next_place: Cell::new(place),
        scans: Cell::default(),
    });
    let driven = own.clone();
    tokio::task::spawn_local(async move { driven.log.log().drive().await });
    tokio::task::spawn_local(own.clone().follow_log());
    tokio::task::spawn_local(own.clone().drive());
    tokio::task::spawn_local(own.clone().tend());
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
    /// Takes a replica that does not speak yet one step further.
    async fn advance(
        self: &Rc<Self>,
        services: &Rc<Services>,
        wanted: &Wanted,
    ) -> Result<(), String> {
        let (id, replica) = (wanted.id, wanted.replica);
        let range = wanted.record().ok_or("its record names no replicas")?;
        let recorded = Recorded {
            directory: replica.directory,
            are_all: range.replicas.iter().all(|r| r.directory.is_some()),
            ready: range.ready,
        };
        let groups = self.store.groups().map_err(|error| error.to_string())?;
        let (meta, log) = (groups.get(&id), self.log.group(id));
        let start = {
            let log = log.as_ref().map(|log| log.borrow());
            judge(recorded, meta, log.as_deref())
        };
        let start = match (start, self.sabotage) {
            (Start::Mute(_), Sabotage::PutBackVotes) if meta.is_none() || log.is_none() => {
                Start::Make
            }
            (Start::Mute(_), Sabotage::PutBackVotes) => Start::Speak,
            (start, _) => start,
        };
        let note = |directory| RangeReplica {
            directory,
            ..replica
        };
        match start {
            Start::Make => {
                let directory = replica
                    .directory
                    .unwrap_or_else(|| new_directory(services, id));
                self.make(id, directory).await?;
                let made = Some(note(Some(directory)));
                self.note(services, wanted, made).await?;
            }
            Start::Note => {
                let directory = meta.map(|meta| meta.directory);
                self.note(services, wanted, Some(note(directory))).await?;
            }
            Start::Ready => self.note(services, wanted, None).await?,
            Start::Wait => drop(self.silent.borrow_mut().insert(id, Silent::Preparing)),
            Start::Mute(why) => {
                let before = self.silent.borrow_mut().insert(id, Silent::Mute(why));
                if before != Some(Silent::Mute(why)) {
                    tracing::warn!(
                        keyspace = wanted.keyspace.name,
                        why,
                        "a replica of a range keeps silent: replacing it comes with ranges that move"
                    );
                }
            }
            Start::Speak => self.speak(services, wanted).await?,
            Start::SpeakFrom(position) => {
                let vote = log.map_or(Vote::default(), |log| log.borrow().vote());
                let vote = if vote.term < position.term {
                    Vote {
                        term: position.term,
                        vote: 0,
                    }
                } else {
                    vote
                };
                self.begin(id, position, vote).await?;
                self.speak(services, wanted).await?;
            }
        }
        Ok(())
    }

    async fn note(
        &self,
        services: &Services,
        wanted: &Wanted,
        made: Option<RangeReplica>,
    ) -> Result<(), String> {
        let keyspace = &wanted.keyspace;
        (self.silent.borrow_mut()).insert(wanted.id, Silent::Preparing);
        if services.is_dropped(keyspace.id) {
            return Ok(());
        }
        // The store may not answer: then it is tried again at the next look.
        if let Err(error) = services.range_made(keyspace, wanted.index, made).await {
            tracing::info!(%error, keyspace = keyspace.name, "a replica of a range is not noted yet");
        }
        Ok(())
    }

    /// Makes an empty replica, durably.
    async fn make(&self, id: u64, directory: u64) -> Result<(), String> {
        let meta = Meta {
            directory,
            place: self.take_place(),
            ..Meta::default()
        };
        self.store
            .set(id, &meta)
            .map_err(|error| error.to_string())?;
        self.flush().await?;
        self.begin(id, Position::default(), Vote::default()).await
    }

    /// Begins a group's log anew, durably.
    async fn begin(&self, id: u64, position: Position, vote: Vote) -> Result<(), String> {
        let record = Record {
            group: id,
            begin: Some(position),
            vote: Some(vote),
            entries: Vec::new(),
        };
        let index = self
            .log
            .append(&record)
            .map_err(|error| error.to_string())?;
        self.log.take(record);
        let synced = self.log.log().wait_synced(index).await;
        synced.map_err(|failure| failure.to_string())
    }

    async fn speak(&self, services: &Services, wanted: &Wanted) -> Result<(), String> {
        let id = wanted.id;
        let record = wanted.record().ok_or("its record names no replicas")?;
        let groups = self.store.groups().map_err(|error| error.to_string())?;
        let meta = *groups.get(&id).ok_or("its store has nothing of it")?;
        let log = self.log.group(id).ok_or("its log has nothing of it")?;
        let state = self.behind(move |store| store.state(&meta)).await?;
        let (own, seed) = (services.shard().address(), services.seed());
        let range = (id, record, wanted.keyspace.name == ORACLE_KEYSPACE);
        let group = Group::new(range, own, (meta, state), log, seed, self.sabotage);
        let group = group.map_err(|error| error.to_string())?;
        self.silent.borrow_mut().remove(&id);
        self.groups.borrow_mut().insert(id, Rc::new(group));
        self.wake.notify_one();
        Ok(())
    }

    /// Removes replicas of keyspaces whose data is to go.
    async fn let_go(&self, services: &Services) -> Result<(), String> {
        let held = self.store.groups().map_err(|error| error.to_string())?;
        let silent = self.silent.borrow().keys().copied().collect::<Vec<u64>>();
        let mut gone: Vec<u64> = held.into_keys().chain(silent).collect();
        gone.retain(|id| services.is_purged(keyspace_of(*id)));
        gone.sort_unstable();
        gone.dedup();
        for id in gone {
            if let Some(group) = self.groups.borrow_mut().remove(&id) {
                group.fail("its keyspace is dropped");
            }
            self.silent.borrow_mut().remove(&id);
            self.log.forget(id);
            let groups = self.store.groups().map_err(|error| error.to_string())?;
            if let Some(meta) = groups.get(&id) {
                let place = meta.place;
                self.behind(move |store| store.remove(id, place).and_then(|()| store.flush()))
                    .await?;
            }
        }
        Ok(())
    }

    /// Flushes what is applied where the log or the memory it takes has grown, and lets go of what is not needed then.
    async fn keep_small(&self, services: &Services) {
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
        let bytes: usize = (self.groups.borrow().values())
            .map(|group| group.storage.log().borrow().bytes())
            .sum();
        let is_long = self.log.is_long();
        let tail_bytes = (services.log_retention_bytes() / TAIL_PART) as usize;
        let tail_bytes = tail_bytes.clamp(TAIL_BYTES_MIN, TAIL_BYTES);
        if bytes < TAILS * tail_bytes && !is_long {
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
                log.borrow_mut().trim(position.index, tail_bytes);
            }
        }
        if is_long && let Err(error) = self.log.release(|id| flushed.get(&id).copied()).await {
            tracing::warn!(%error, "the log of ranges is not released");
        }
    }

    async fn flush(&self) -> Result<(), String> {
        self.behind(Store::flush).await
    }
}

/// A number that no other replica has given itself.
fn new_directory(services: &Services, id: u64) -> u64 {
    let seed = services.seed() ^ services.now_ms().rotate_left(20) ^ id << 8;
    StdRng::seed_from_u64(seed).random_range(1..u64::MAX)
}
