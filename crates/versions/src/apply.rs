//! Entries of a range's log, in one batch with their position.

use std::collections::HashMap;

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_txn::{Command, Id, IdRecord, Intent, Record, Rows, State, Verdict};
use rocksdb::WriteBatch;

use crate::get::{Lookup, Tier, damaged, encode};
use crate::key;
use crate::meta::Meta;
use crate::store::{Store, StoreError, write_options};

/// What was applied.
#[derive(Debug)]
pub struct Applied {
    /// What is known of the range now.
    pub meta: Meta,
    /// What became of each command.
    pub verdicts: Vec<Verdict>,
}

impl Store {
    /// Applies the entries of a range's log up to `index` of `term`, their commands in order.
    ///
    /// # Errors
    /// See [`StoreError`]; nothing was applied, and `state` is not to be used any more.
    pub fn apply(
        &self,
        group: u64,
        meta: &Meta,
        state: &mut State,
        commands: &[Command],
        (index, term): (u64, u64),
    ) -> Result<Applied, StoreError> {
        let mut meta = Meta {
            applied: index,
            term,
            ..*meta
        };
        let mut rows = Batch {
            store: self,
            place: meta.place,
            batch: WriteBatch::default(),
            newest: HashMap::new(),
            records: HashMap::new(),
            ids: HashMap::new(),
            gone: Version(0),
        };
        let mut verdicts = Vec::with_capacity(commands.len());
        for command in commands {
            let verdict = state.apply(&mut rows, command)?;
            let at = match command {
                Command::Write { at, .. } => *at,
                Command::Commit { txn, .. } | Command::Place { txn, .. } => *txn,
                _ => Version(0),
            };
            if matches!(verdict, Verdict::Done | Verdict::Committed) {
                meta.greatest = meta.greatest.max(at);
            }
            verdicts.push(verdict);
        }
        meta.watermark = state.watermark();
        let mut batch = rows.batch;
        batch.put(key::of_group(group), meta.encode());
        self.db.write_opt(batch, &write_options())?;
        Ok(Applied { meta, verdicts })
    }
}

/// What entries change, before it is written.
struct Batch<'a> {
    store: &'a Store,
    place: u32,
    batch: WriteBatch,
    /// Keys that the batch has written, with their newest version.
    newest: HashMap<Bytes, (Version, bool)>,
    records: HashMap<Version, Record>,
    ids: HashMap<Bytes, IdRecord>,
    /// Records up to this are gone, but those that were put since.
    gone: Version,
}

impl Rows for Batch<'_> {
    type Error = StoreError;

    fn newest(&mut self, key: &Bytes) -> Result<Option<(Version, bool)>, StoreError> {
        let written = self.newest.get(key).copied();
        let stored = match self.store.get(self.place, key, Version::MAX, Tier::Disk)? {
            Lookup::Found(found) => Some((found.version, found.value.is_some())),
            Lookup::Absent | Lookup::NeedsDisk => None,
        };
        Ok(written.max(stored))
    }

    fn record(&mut self, txn: Version) -> Result<Option<Record>, StoreError> {
        match self.records.get(&txn) {
            Some(record) => Ok(Some(record.clone())),
            None if txn <= self.gone => Ok(None),
            None => self.store.record(self.place, txn),
        }
    }

    fn id(&mut self, id: &Id) -> Result<Option<IdRecord>, StoreError> {
        if let Some(record) = self.ids.get(&id.name) {
            return Ok(Some(*record));
        }
        let row = key::of_name(self.place, id.ms, &id.name);
        let stored = self.store.db.get(row)?;
        let record = stored.map(|stored| IdRecord::decode(stored.into()));
        record
            .transpose()
            .map_err(|_| damaged("the record of a name"))
    }

    fn put_id(&mut self, id: &Id, record: &IdRecord) {
        let row = key::of_name(self.place, id.ms, &id.name);
        self.batch.put(row, record.encode());
        self.ids.insert(id.name.clone(), *record);
    }

    fn put_version(&mut self, key: &Bytes, version: Version, value: Option<&Bytes>) {
        let row = key::of_version(self.place, key, version);
        self.batch.put(row, encode(value.map(|value| &value[..])));
        let newest = self.newest.entry(key.clone()).or_default();
        *newest = (*newest).max((version, value.is_some()));
    }

    fn put_intent(&mut self, key: &Bytes, intent: &Intent) {
        let row = key::of_intent(self.place, key);
        self.batch.put(row, intent.encode());
    }

    fn remove_intent(&mut self, key: &Bytes) {
        self.batch.delete(key::of_intent(self.place, key));
    }

    fn put_record(&mut self, txn: Version, record: &Record) {
        let row = key::of_record(self.place, txn);
        self.batch.put(row, record.encode());
        self.records.insert(txn, record.clone());
    }

    fn remove_records(&mut self, up_to: Version) {
        let first = key::of_record(self.place, Version(0));
        let behind = key::of_record(self.place, Version(up_to.0.saturating_add(1)));
        self.batch.delete_range(first, behind);
        // Names that are as old are not asked for any more.
        let first = key::of_name(self.place, 0, &[]);
        let behind = key::of_name(self.place, up_to.millis() + 1, &[]);
        self.batch.delete_range(first, behind);
        self.records.retain(|txn, _| *txn > up_to);
        self.gone = self.gone.max(up_to);
    }
}
