//! A view at one shard, as all there know it: what its index reflects, and how it is doing.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use dunlin_log::{Index as LogIndex, Runner};
use dunlin_metadata::ViewRecord;
use dunlin_node::Services;
use dunlin_proto::Token;
use dunlin_proto::api::{SkippedDocument, ViewAtShard, ViewStatus};
use rocksdb::DB;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::blocks::Blocks;
use crate::engines::Engines;
use crate::fold::Folds;
use crate::index::{Counts, Index, IndexError};
use crate::reduce::Reduce;

/// Documents that were skipped are told of, the latest first, up to so many.
const SHOWN_FAILED: usize = 10;

/// A view at one shard.
pub(crate) struct View {
    pub keyspace: u32,
    pub record: ViewRecord,
    pub reduce: Option<Reduce>,
    /// Where its index is kept and read.
    pub runner: Runner,
    /// Where its functions run.
    pub engines: Engines,
    /// Its reduce function, where it is one of the user's.
    pub folds: Arc<Folds>,
    state: RefCell<State>,
    changed: Notify,
    /// What a reader found to be damaged.
    damage: RefCell<Option<String>>,
    /// Queries of clients, and how long they took until their first row.
    queries: Cell<(u64, Duration)>,
}

#[derive(Default)]
struct State {
    db: Option<Arc<DB>>,
    blocks: Arc<Blocks>,
    token: Option<Token>,
    building: BTreeSet<u16>,
    counts: Counts,
    partitions: BTreeSet<u16>,
    /// Of what is being built: from which record of the log on all is there, and which of it has been filled.
    ends: BTreeMap<u16, LogIndex>,
    filled: BTreeSet<u16>,
    begun: Option<Instant>,
    error: Option<String>,
}

impl View {
    pub fn new(keyspace: u32, record: ViewRecord, runner: Runner, engines: Engines) -> View {
        // Others are not let in.
        let reduce = record.reduce.as_deref();
        View {
            keyspace,
            reduce: reduce.and_then(|name| Reduce::of(name).ok()),
            folds: Arc::new(Folds::new(engines, reduce.unwrap_or_default())),
            record,
            runner,
            engines,
            state: RefCell::default(),
            changed: Notify::new(),
            damage: RefCell::default(),
            queries: Cell::default(),
        }
    }

    /// Its name and number for people, and for what is kept of the log.
    pub fn label(&self) -> String {
        format!(
            "view {} ({}.{})",
            self.record.name, self.keyspace, self.record.id
        )
    }

    /// Sums of stretches of its index.
    pub fn blocks(&self) -> Arc<Blocks> {
        self.state.borrow().blocks.clone()
    }

    /// What its index is like now.
    pub fn set(&self, index: &Index) {
        let mut state = self.state.borrow_mut();
        state.db = Some(index.db.clone());
        state.blocks = index.blocks.clone();
        state.token = index.token().cloned();
        state.building = index.building().clone();
        state.counts = index.counts();
        state.error = None;
        self.changed.notify_waiters();
    }

    /// There is no index to read.
    pub fn unset(&self, why: String) {
        let mut state = self.state.borrow_mut();
        state.db = None;
        state.error = Some(why);
    }

    /// A reader has found damage: it is to be built anew.
    pub fn report(&self, error: &IndexError) {
        if let IndexError::Damaged(why) = error {
            *self.damage.borrow_mut() = Some(why.clone());
        }
    }

    /// What a reader found, told once.
    pub fn damage(&self) -> Option<String> {
        self.damage.borrow_mut().take()
    }

    /// It is fed with these partitions from here on; what is being built is whole at `end`.
    pub fn subscribe(&self, partitions: &BTreeSet<u16>, building: &BTreeSet<u16>, end: LogIndex) {
        let mut state = self.state.borrow_mut();
        state.partitions = partitions.clone();
        state.ends = building.iter().map(|partition| (*partition, end)).collect();
        state.filled.clear();
        state.begun = (!building.is_empty()).then(Instant::now);
    }

    /// A partition is built anew; it is whole at `end`.
    pub fn begin(&self, partition: u16, end: LogIndex) {
        let mut state = self.state.borrow_mut();
        state.ends.insert(partition, end);
        state.filled.remove(&partition);
        state.begun.get_or_insert_with(Instant::now);
    }

    /// All stored records of a partition are there.
    pub fn filled(&self, partition: u16) {
        self.state.borrow_mut().filled.insert(partition);
    }

    /// The partitions that stay to be built, all up to a token being there.
    pub fn still_building(&self, services: &Services, token: &Token) -> BTreeSet<u16> {
        let state = self.state.borrow();
        let is_whole = |partition: &u16| {
            let end = state.ends.get(partition).copied().unwrap_or(0);
            token.within(*partition).is_none() && is_past(services, token, &[*partition], end)
        };
        let building = state.building.iter();
        building
            .filter(|partition| !is_whole(partition))
            .copied()
            .collect()
    }

    /// Whether all that the log had of partitions up to a record is in the index.
    pub fn is_past(&self, services: &Services, partitions: &[u16], end: LogIndex) -> bool {
        let state = self.state.borrow();
        let token = state.token.as_ref();
        token.is_some_and(|token| is_past(services, token, partitions, end))
    }

    /// Bytes of the log that the index has yet to read, roughly; none while it is given stored records.
    pub fn bytes_behind(&self, services: &Services) -> Option<u64> {
        let state = self.state.borrow();
        let held: Vec<u16> = state.partitions.iter().copied().collect();
        let own = services.shard().address();
        let hint = state.token.as_ref()?.hint(own, &held)?;
        Some(services.log_bytes_behind(hint.index))
    }

    /// Waits until the index is another. Made before what is waited for is looked at, it misses nothing.
    pub fn changed(&self) -> tokio::sync::futures::Notified<'_> {
        self.changed.notified()
    }

    /// The database, where there is one.
    pub fn database(&self) -> Option<Arc<DB>> {
        self.state.borrow().db.clone()
    }

    /// Why a partition is not served.
    pub fn why_not(&self, partition: u16) -> String {
        let state = self.state.borrow();
        if let Some(error) = &state.error {
            return error.clone();
        }
        let whole = state.partitions.len() - state.building.len().min(state.partitions.len());
        if state.partitions.contains(&partition) {
            format!(
                "it is being built: {whole} of {} partitions are whole",
                state.partitions.len()
            )
        } else {
            "its building has not begun".to_owned()
        }
    }

    /// Notes that a query had its first row after so long.
    pub fn count_query(&self, took: Duration) {
        let (count, total) = self.queries.get();
        self.queries.set((count + 1, total + took));
    }

    /// Its figures, for status and metrics.
    pub fn figures(&self, services: &Services, keyspace: String) -> ViewStatus {
        let status = self.state_at(services, Vec::new());
        let (queries, took) = self.queries.get();
        ViewStatus {
            at: status.at,
            keyspace,
            view: self.record.name.clone(),
            built: status.built,
            rows: status.rows,
            failed: status.failed,
            bytes_behind: status.bytes_behind,
            queries,
            queries_us: took.as_micros() as u64,
            error: status.error,
        }
    }

    /// How it is doing, with the latest of the documents that were skipped.
    pub fn status(&self, services: &Services) -> ViewAtShard {
        let db = self.database();
        let failed = db.map(|db| Index::failed(&db, SHOWN_FAILED));
        let failed = failed.and_then(Result::ok).unwrap_or_default().into_iter();
        let skipped = failed.map(|failed| SkippedDocument {
            id: String::from_utf8_lossy(&failed.id).into_owned(),
            reason: failed.reason,
        });
        self.state_at(services, skipped.collect())
    }

    fn state_at(&self, services: &Services, skipped: Vec<SkippedDocument>) -> ViewAtShard {
        let state = self.state.borrow();
        let partitions = state.partitions.len();
        let building: Vec<_> = state.building.intersection(&state.partitions).collect();
        let filled = building.iter().filter(|p| state.filled.contains(p)).count();
        let whole = partitions - building.len();
        let begun = state.token.is_some() && partitions > 0;
        let built = match (begun, state.ends.len()) {
            (false, _) => 0.0,
            _ if building.is_empty() => 1.0,
            (true, all) => (all - building.len().min(all) + filled) as f64 / all.max(1) as f64,
        };
        let left_ms = state
            .begun
            .filter(|_| !building.is_empty() && built > 0.0)
            .map(|begun| {
                let elapsed = begun.elapsed().as_secs_f64();
                (elapsed * (1.0 - built) / built * 1e3) as u64
            });
        ViewAtShard {
            at: services.label_of(services.shard().address()),
            partitions,
            whole: if begun { whole } else { 0 },
            built,
            left_ms,
            documents: state.counts.documents,
            rows: state.counts.rows,
            failed: state.counts.failed,
            skipped,
            bytes_behind: self.bytes_behind(services),
            error: state.error.clone(),
        }
    }
}

/// Whether a token says that a shard's log was read up to a record, of partitions.
pub(crate) fn is_past(
    services: &Services,
    token: &Token,
    partitions: &[u16],
    end: LogIndex,
) -> bool {
    let of_partitions = token.clone().narrow(partitions);
    let hint = of_partitions.hint(services.shard().address(), partitions);
    hint.is_some_and(|hint| hint.index >= end)
}
