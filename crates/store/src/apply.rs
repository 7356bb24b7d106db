//! Apply: log records become stored values.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use dunlin_entry::{Entry, Kind, Rank};
use rocksdb::WriteBatch;
use xxhash_rust::xxh3::xxh3_64;

use crate::conflict::{Verdict, judge};
use crate::open::{APPLIED_KEY, NEWEST_KEY};
use crate::record::Record;
use crate::store::{Inner, Writer, family};
use crate::tuning::EXPIRY;
use crate::{Store, StoreError, expiry, key, stripes};

/// What a memtable spends on a record besides key and value, roughly.
const NODE_BYTES: usize = 64;
/// What a write batch spends on a record besides key and value, at most.
const BATCH_BYTES: usize = 48;

/// What became of an applied entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is what the store holds for its key, now or already.
    Won,
    /// The store holds something newer for its key; the entry changed nothing.
    Lost {
        /// What is held. A write that was just accepted is to be stamped again, above this, before
        /// it is acknowledged.
        newer: Rank,
    },
    /// The store holds something else of the very same rank; the entry changed nothing. An error
    /// somewhere: replicas may hold either.
    Twin,
}

impl Store {
    /// Applies entries in order and notes that the log up to `up_to_index` is contained, in one
    /// atomic step. Answers one outcome an entry; a vector entry has nothing to store and wins.
    /// A copy that is in no log is applied with the current [`Store::applied`].
    ///
    /// Waits for the disk only when an entry may be older than what its key holds.
    ///
    /// # Errors
    /// On any error nothing was applied and the batch may be tried again:
    /// [`StoreError::Stalled`] shortly, [`StoreError::NoSpace`] when there is room.
    pub fn apply(&self, entries: &[Entry], up_to_index: u64) -> Result<Vec<Outcome>, StoreError> {
        let inner = &*self.inner;
        inner.tick();
        let mut writer = inner.writer();
        let writer = &mut *writer;
        let mut batch = Batch::new(entries);
        let mut outcomes = Vec::with_capacity(entries.len());
        for entry in entries {
            outcomes.push(batch.add(inner, writer, entry)?);
        }
        batch.name_expiries(inner)?;
        let applied = inner.applied.load(Ordering::Relaxed).max(up_to_index);
        let meta = inner.meta()?;
        let mut puts = batch.puts;
        puts.put_cf(meta, APPLIED_KEY, applied.to_le_bytes());
        let newest = batch
            .wins
            .iter()
            .map(|win| entries[win.at].rank().height())
            .max();
        let bound = match newest {
            Some(newest) if newest > writer.bound => stripes::bound_above(newest),
            _ => writer.bound,
        };
        if bound > writer.bound {
            puts.put_cf(meta, NEWEST_KEY, bound.0.to_le_bytes());
        }
        inner
            .db
            .write_opt(puts, &inner.write)
            .map_err(|error| inner.error(error))?;
        writer.bound = bound;
        let mut counted = None;
        for win in &batch.wins {
            inner.rows.forget(win.hash);
            let keyspace = Some(entries[win.at].keyspace);
            if keyspace != counted {
                writer.changes.of(entries[win.at].keyspace);
                counted = keyspace;
            }
        }
        inner
            .memtable_bytes
            .fetch_add(batch.bytes as u64, Ordering::Relaxed);
        inner.applied.store(applied, Ordering::Release);
        Ok(outcomes)
    }
}

impl Store {
    /// Notes that the log ends at `index`, before [`Store::applied`]: a repair cut it. What it
    /// lost stays in the store; the records that take its place in the log count as new.
    ///
    /// # Errors
    /// As [`Store::apply`].
    pub fn rewind(&self, index: u64) -> Result<(), StoreError> {
        let inner = &*self.inner;
        let _writer = inner.writer();
        let mut batch = WriteBatch::default();
        batch.put_cf(inner.meta()?, APPLIED_KEY, index.to_le_bytes());
        inner
            .db
            .write_opt(batch, &inner.write)
            .map_err(|error| inner.error(error))?;
        inner.applied.fetch_min(index, Ordering::AcqRel);
        inner.flushing.fetch_min(index, Ordering::AcqRel);
        inner.flushed.fetch_min(index, Ordering::AcqRel);
        Ok(())
    }
}

/// Keyspace, partition and key.
pub(crate) type Place<'a> = (u32, u16, &'a [u8]);

/// An entry that is written.
struct Win {
    /// Its index.
    at: usize,
    /// The hash of its full key.
    hash: u64,
}

/// A write batch under construction.
struct Batch<'a> {
    entries: &'a [Entry],
    puts: WriteBatch,
    /// What is in `puts`, in order.
    wins: Vec<Win>,
    at: usize,
    /// What `puts` holds for a key, built when an entry first needs to know.
    held: Option<HashMap<Place<'a>, Rank>>,
    bytes: usize,
}

impl<'a> Batch<'a> {
    fn new(entries: &'a [Entry]) -> Self {
        let bytes: usize = entries
            .iter()
            .map(|entry| entry.key.len() + entry.value.len() + BATCH_BYTES)
            .sum();
        Self {
            entries,
            puts: WriteBatch::with_capacity_bytes(bytes + 2 * BATCH_BYTES),
            wins: Vec::with_capacity(entries.len()),
            at: 0,
            held: None,
            bytes: 0,
        }
    }

    /// Judges the next entry and takes it in when it wins.
    fn add(
        &mut self,
        inner: &Inner,
        writer: &mut Writer,
        entry: &'a Entry,
    ) -> Result<Outcome, StoreError> {
        let at = self.at;
        self.at += 1;
        if entry.kind == Kind::Vector {
            return Ok(Outcome::Won);
        }
        key::check_keyspace(entry.keyspace)?;
        key::encode(&mut writer.key, entry.keyspace, entry.partition, &entry.key);
        let hash = xxh3_64(&writer.key);
        let rank = entry.rank();
        if !writer.stripes.proves_newest(hash, rank.height()) {
            let held = match self.held(entry) {
                Some(rank) => Some(rank),
                None => stored(inner, &writer.key)?,
            };
            match judge(held, rank) {
                Verdict::Write => {}
                Verdict::Held => {
                    return if self.is_held(inner, writer, entry)? {
                        Ok(Outcome::Won)
                    } else {
                        Ok(Outcome::Twin)
                    };
                }
                Verdict::Lost { newer } => return Ok(Outcome::Lost { newer }),
            }
        }
        writer.stripes.raise(hash, rank.height());
        Record::encode(&mut writer.record, entry);
        self.puts.put(&writer.key, &writer.record);
        self.bytes += writer.key.len() + writer.record.len() + NODE_BYTES;
        self.wins.push(Win { at, hash });
        if let Some(held) = &mut self.held {
            held.insert(place(entry), rank);
        }
        Ok(Outcome::Won)
    }

    /// Puts what is written and has an expiry on the list of what is to end.
    fn name_expiries(&mut self, inner: &Inner) -> Result<(), StoreError> {
        let mut key = Vec::new();
        for win in &self.wins {
            let entry = &self.entries[win.at];
            let (Some(expiry_ms), Kind::Put) = (entry.expiry_ms, entry.kind) else {
                continue;
            };
            let list = family(&inner.db, EXPIRY)?;
            expiry::encode(&mut key, expiry_ms, place(entry));
            self.puts.put_cf(list, &key, b"");
            self.bytes += key.len() + NODE_BYTES;
        }
        Ok(())
    }

    /// Whether what is held of an equal rank is the same entry come again.
    fn is_held(
        &self,
        inner: &Inner,
        writer: &mut Writer,
        entry: &Entry,
    ) -> Result<bool, StoreError> {
        Record::encode(&mut writer.record, entry);
        let mut before = self.wins.iter().map(|win| &self.entries[win.at]);
        if let Some(other) = before.rfind(|other| place(other) == place(entry)) {
            let mut record = Vec::new();
            Record::encode(&mut record, other);
            return Ok(is_same(&record, &writer.record));
        }
        let found = inner
            .db
            .get_pinned_opt(&writer.key, &inner.read_disk)
            .map_err(|error| inner.error(error))?;
        Ok(found.is_none_or(|held| is_same(&held, &writer.record)))
    }

    /// What this batch already writes for the entry's key.
    fn held(&mut self, entry: &'a Entry) -> Option<Rank> {
        let entries = self.entries;
        let wins = &self.wins;
        let held = self.held.get_or_insert_with(|| {
            wins.iter()
                .map(|win| (place(&entries[win.at]), entries[win.at].rank()))
                .collect()
        });
        held.get(&place(entry)).copied()
    }
}

fn place(entry: &Entry) -> Place<'_> {
    (entry.keyspace, entry.partition, &entry.key)
}

/// Whether two records leave the same behind; by how many replicas they are held may differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    match (Record::decode(one), Record::decode(other)) {
        (Ok(one), Ok(other)) => {
            let what = |record: &Record<'_>| (record.tombstone, record.expiry_ms);
            what(&one) == what(&other) && one.value == other.value
        }
        // Damage is found and told where it is read.
        _ => true,
    }
}

fn stored(inner: &Inner, key: &[u8]) -> Result<Option<Rank>, StoreError> {
    let found = inner
        .db
        .get_pinned_opt(key, &inner.read_disk)
        .map_err(|error| inner.error(error))?;
    match found {
        Some(bytes) => match Record::decode(&bytes) {
            Ok(record) => Ok(Some(record.rank())),
            Err(error) => Err(inner.damaged(&error)),
        },
        None => Ok(None),
    }
}
