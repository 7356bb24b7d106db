//! A replica's part in loads: pairs are gathered, written into files, and taken over on the word of the
//! shard that has stamped them (decision 45).

mod judge;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use dunlin_entry::{Entry, Kind, Origin, Stamp, Version};
use dunlin_message::DecodeError;
use dunlin_proto::{LoadAnswer, LoadRequest, LoadStep, pairs};
use futures_util::future::join_all;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::doors::Held;
use crate::follow::Pace;
use crate::limits::FORGET_AFTER;
use crate::replication::address_of;
use crate::sabotage::Sabotage;
use crate::shard::{Shard, Sorted};
use judge::{Standing, Way, way};

/// Bytes that wait at a shard for the word of those who load.
const WAITING_BYTES: usize = 256 << 20;
/// Whoever is not heard of for so long has given up.
const PATIENCE: Duration = Duration::from_secs(60);
/// Files that are written at once.
const FILES_AT_ONCE: usize = 4;
/// Files are written at least this fast: all replicas of a load wait for the slowest, and whoever loads for as
/// long as a step may take.
const BYTES_PER_S_MIN: f64 = 16_000_000.0;
/// Pairs of one partition become a file from so many bytes on; fewer are put.
pub(crate) const FILE_BYTES_MIN: usize = 64 << 10;

/// The loads that a shard takes part in.
pub(crate) struct Loads {
    shard: Rc<Shard>,
    /// Of each origin the one under way: there is one at a time.
    waiting: RefCell<BTreeMap<Origin, Waiting>>,
    /// Of all that are under way, and when the last file was written.
    pace: Mutex<(Pace, Instant)>,
}

/// What has come of a load.
struct Waiting {
    stamp: Stamp,
    keyspace: u32,
    parts: BTreeMap<u16, Vec<Bytes>>,
    bytes: usize,
    /// The same among all that clients have sent.
    held: Held,
    /// Written into files, by partition.
    sorted: Option<BTreeMap<u16, Sorted>>,
    touched: Instant,
}

/// Pairs of one partition as they are looked at and written.
enum Looked {
    InTheWay(u16),
    Sorted(u16, Sorted),
}

impl Loads {
    pub fn new(shard: Rc<Shard>) -> Rc<Loads> {
        let pace = Pace::at_least(BYTES_PER_S_MIN, shard.config().move_latency_us_p99);
        Rc::new(Loads {
            shard,
            waiting: RefCell::default(),
            pace: Mutex::new((pace, Instant::now())),
        })
    }

    /// Forgets what was given up, for as long as the shard runs.
    pub fn run(self: &Rc<Self>) {
        let loads = self.clone();
        tokio::task::spawn_local(async move {
            loop {
                tokio::time::sleep(PATIENCE / 8).await;
                let is_over = |waiting: &Waiting| waiting.touched.elapsed() >= PATIENCE;
                let mut waiting = loads.waiting.borrow_mut();
                waiting.retain(|_, waiting| !is_over(waiting));
            }
        });
    }

    /// Does a step of a load, to its end, whether or not it is waited for: half way through, what is here is
    /// what no vector names.
    pub async fn take(self: &Rc<Self>, request: LoadRequest) -> LoadAnswer {
        let (loads, busy) = (self.clone(), self.shard.busy());
        let step = tokio::task::spawn_local(async move {
            let answer = loads.step(request).await;
            drop(busy);
            answer
        });
        step.await.unwrap_or(LoadAnswer::Refused)
    }

    async fn step(&self, request: LoadRequest) -> LoadAnswer {
        let LoadRequest {
            stamp,
            after,
            keyspace,
            from,
            step,
        } = request;
        if !stamp.origin.is_of_loads() || stamp.version == Version::MAX {
            return LoadAnswer::Refused;
        }
        let is_ours = address_of(stamp.origin) == self.shard.address();
        self.shard.loads(stamp.origin);
        match step {
            LoadStep::Part { partition, pairs } => {
                match self.gather(stamp, keyspace, partition, pairs) {
                    true => LoadAnswer::Done,
                    false => LoadAnswer::Refused,
                }
            }
            LoadStep::Prepare => match self.prepare(stamp, after, keyspace, from).await {
                Ok(in_the_way) => LoadAnswer::Prepared { in_the_way },
                Err(error) => self.refuse(stamp, &error),
            },
            LoadStep::Commit { leave_out } => {
                let committed = self
                    .commit(stamp, after, keyspace, &leave_out, is_ours)
                    .await;
                self.shard.has_loaded(stamp.origin);
                match committed {
                    Ok(()) => LoadAnswer::Committed {
                        unsure: self.shard.unsure(),
                    },
                    Err(error) => self.refuse(stamp, &error),
                }
            }
            LoadStep::Drop => {
                self.forget(stamp);
                LoadAnswer::Done
            }
        }
    }

    fn refuse(&self, stamp: Stamp, error: &str) -> LoadAnswer {
        tracing::debug!(error, origin = %stamp.origin, "a load is not taken");
        self.forget(stamp);
        LoadAnswer::Refused
    }

    fn forget(&self, stamp: Stamp) {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.get(&stamp.origin).is_some_and(|w| w.stamp == stamp) {
            waiting.remove(&stamp.origin);
        }
        self.shard.has_loaded(stamp.origin);
    }

    fn gather(&self, stamp: Stamp, keyspace: u32, partition: u16, pairs: Bytes) -> bool {
        let mut all = self.waiting.borrow_mut();
        let waits: usize = all.values().map(|waiting| waiting.bytes).sum();
        if waits + pairs.len() > WAITING_BYTES {
            return false;
        }
        let Some(waiting) = self.of_load(&mut all, stamp, keyspace) else {
            // What comes late of one that was given up.
            return false;
        };
        if waiting.keyspace != keyspace || waiting.sorted.is_some() {
            return false;
        }
        waiting.touched = Instant::now();
        if waiting.held.grow(pairs.len()).is_err() {
            return false;
        }
        waiting.bytes += pairs.len();
        waiting.parts.entry(partition).or_default().push(pairs);
        true
    }

    /// What waits of a load, none where there is nothing yet; `None` where a later one has begun.
    fn of_load<'a>(
        &self,
        all: &'a mut BTreeMap<Origin, Waiting>,
        stamp: Stamp,
        keyspace: u32,
    ) -> Option<&'a mut Waiting> {
        let fresh = || Waiting {
            stamp,
            keyspace,
            parts: BTreeMap::new(),
            bytes: 0,
            held: self.shard.front().doors.account(),
            sorted: None,
            touched: Instant::now(),
        };
        let waiting = all.entry(stamp.origin).or_insert_with(fresh);
        if waiting.stamp.version > stamp.version {
            return None;
        }
        if waiting.stamp != stamp {
            *waiting = fresh();
        }
        Some(waiting)
    }

    /// How a load is to be taken now.
    fn way(&self, stamp: Stamp, after: Version, keyspace: u32) -> Way {
        let shard = &self.shard;
        let placement = shard.placement();
        let Some(placed) = placement.keyspace(keyspace) else {
            return Way::Refuse;
        };
        let have = shard.has_up_to(stamp.origin);
        let grace_ms = placed
            .keyspace
            .settings
            .tombstone_grace_s
            .saturating_mul(1_000);
        let is_dead = placement.is_dead(stamp.origin.node());
        way(
            stamp.version,
            after,
            &Standing {
                have,
                is_sound: shard.answers()
                    && !shard.is_superseded()
                    && !shard.is_dropped(keyspace)
                    && !placement.is_purged(keyspace)
                    && !is_dead,
                is_at_rest: placement.change.is_none() && !shard.pins().are_of_moves(),
                forgotten: shard.forgotten_since_start(keyspace),
                age_ms: shard
                    .clock()
                    .now_ms()
                    .saturating_sub(stamp.version.millis()),
                remembers_ms: grace_ms.max(FORGET_AFTER.as_millis() as u64),
            },
        )
    }

    /// Writes what has come into files; tells of which partitions something is in the way.
    async fn prepare(
        &self,
        stamp: Stamp,
        after: Version,
        keyspace: u32,
        from: u8,
    ) -> Result<Vec<u16>, String> {
        if self.way(stamp, after, keyspace) != Way::Files {
            return Err("it cannot be taken as files".to_owned());
        }
        if !self.shard.take_over(stamp.version) {
            return Err("its stamp is further ahead than --clock-bound".to_owned());
        }
        let parts = {
            let mut all = self.waiting.borrow_mut();
            let waiting = self.of_load(&mut all, stamp, keyspace);
            let waiting = waiting.ok_or("another one is under way")?;
            waiting.touched = Instant::now();
            std::mem::take(&mut waiting.parts)
        };
        // What was acknowledged here before this load came is to be seen, and waits perhaps for another to end.
        if !self.shard.all_applied().await {
            return Err("the own log failed".to_owned());
        }
        let mut groups: Vec<Vec<(u16, Vec<Bytes>)>> = Vec::new();
        groups.resize_with(FILES_AT_ONCE, Vec::new);
        for (number, part) in parts.into_iter().enumerate() {
            groups[number % FILES_AT_ONCE].push(part);
        }
        let blind = self.shard.env().sabotage == Sabotage::LoadBlind;
        let written = groups.into_iter().map(|group| async move {
            let mut looked = Vec::new();
            for (partition, pieces) in group {
                let bytes = pieces.iter().map(Bytes::len).sum();
                let read = move || entries_of(stamp, keyspace, partition, from, pieces);
                let min = FILE_BYTES_MIN.min(self.shard.config().ingest_bytes);
                let sorted = self.shard.sort_out_clear(read, min, blind).await?;
                looked.push(match sorted {
                    Some(sorted) => Looked::Sorted(partition, sorted),
                    None => Looked::InTheWay(partition),
                });
                self.rest(bytes).await;
            }
            Ok::<_, String>(looked)
        });
        let (mut in_the_way, mut ready) = (Vec::new(), BTreeMap::new());
        for looked in join_all(written).await {
            for one in looked? {
                match one {
                    Looked::InTheWay(partition) => in_the_way.push(partition),
                    Looked::Sorted(partition, sorted) => drop(ready.insert(partition, sorted)),
                }
            }
        }
        let mut all = self.waiting.borrow_mut();
        let waiting = all.get_mut(&stamp.origin);
        let waiting = waiting.filter(|waiting| waiting.stamp == stamp);
        let waiting = waiting.ok_or("it was given up meanwhile")?;
        waiting.sorted = Some(ready);
        waiting.touched = Instant::now();
        Ok(in_the_way)
    }

    /// Waits as long as lets this shard's clients have their answers in time, after a file of so many bytes. One
    /// after another: however many loads are under way, together they keep to the pace.
    async fn rest(&self, bytes: usize) {
        let mut paced = self.pace.lock().await;
        let (pace, last) = &mut *paced;
        let pause = pace.pause(bytes, last.elapsed(), self.shard.latency().p99_us());
        tokio::time::sleep(pause).await;
        *last = Instant::now();
    }

    /// Takes a load over, and says in the log that all of it is here.
    async fn commit(
        &self,
        stamp: Stamp,
        after: Version,
        keyspace: u32,
        leave_out: &[u16],
        is_ours: bool,
    ) -> Result<(), String> {
        let waiting = {
            let mut all = self.waiting.borrow_mut();
            let is_it = all
                .get(&stamp.origin)
                .is_some_and(|w| w.stamp == stamp && w.keyspace == keyspace && w.sorted.is_some());
            match is_it {
                true => all.remove(&stamp.origin),
                false => None,
            }
        };
        let Waiting { sorted, held, .. } = waiting.ok_or("it was not prepared")?;
        let mut sorted = sorted.unwrap_or_default();
        sorted.retain(|partition, _| !leave_out.contains(partition));
        let mut sorted: Vec<Sorted> = sorted.into_values().collect();
        let shard = &self.shard;
        // Who has followed this log up to here has not seen in it what comes now.
        shard.open_gap().await?;
        let given = match self.way(stamp, after, keyspace) {
            Way::Refuse => Err("it comes too late".to_owned()),
            Way::Log if is_ours => Err("members change".to_owned()),
            way => {
                if way == Way::Log {
                    sorted.iter_mut().for_each(Sorted::leave_to_log);
                }
                self.take_in(stamp, sorted, is_ours).await
            }
        };
        match &given {
            Ok(()) => shard.close_gap_of_load().await,
            Err(_) => shard.close_gap(None).await,
        }
        drop(held);
        given
    }

    async fn take_in(
        &self,
        stamp: Stamp,
        sorted: Vec<Sorted>,
        is_ours: bool,
    ) -> Result<(), String> {
        let shard = &self.shard;
        let claim = [(stamp.origin, stamp.version)];
        if is_ours {
            // Nobody else has any of it yet. Whatever of it is here after a crash, this shard says that it
            // is all, and the others ask for it.
            shard.log_intent(&claim);
            if !shard.all_applied().await {
                return Err("the own log failed".to_owned());
            }
        }
        let pairs: usize = sorted.iter().map(Sorted::count).sum();
        let taken = shard.ingest_all(sorted).await;
        if taken.is_ok() {
            let loaded = &shard.counters().loaded;
            loaded.set(loaded.get() + pairs as u64);
        }
        if taken.is_ok() || is_ours {
            shard.log_claim(&claim, false);
        }
        taken?;
        match shard.all_applied().await {
            true => Ok(()),
            false => Err("the own log failed".to_owned()),
        }
    }
}

/// The pairs of one partition as entries with their stamp.
fn entries_of(
    stamp: Stamp,
    keyspace: u32,
    partition: u16,
    from: u8,
    pieces: Vec<Bytes>,
) -> Result<Vec<Entry>, DecodeError> {
    let mut entries = Vec::new();
    for mut piece in pieces {
        while !piece.is_empty() {
            let (key_bytes, value_bytes) = pairs::lengths(&piece)
                .filter(|(key, value)| *key > 0 && pairs::HEAD_BYTES + key + value <= piece.len())
                .ok_or_else(|| DecodeError::new("pairs are cut short"))?;
            piece.advance(pairs::HEAD_BYTES);
            entries.push(Entry {
                kind: Kind::Put,
                copy: true,
                from,
                partition,
                keyspace,
                stamp,
                logged: None,
                expiry_ms: None,
                is_expiry: false,
                replaces: None,
                key: piece.split_to(key_bytes),
                value: piece.split_to(value_bytes),
            });
        }
    }
    Ok(entries)
}

#[cfg(test)]
#[path = "loads_tests.rs"]
mod tests;
