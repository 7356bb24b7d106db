//! Entries of a range's log, in one batch with their position.

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_txn::{Command, Id, IdRecord, Intent, Record, Rows, State, Verdict};
use foldhash::HashMap;
use rocksdb::WriteBatch;

use crate::get::{Found, Tier, Versions, encode};
use crate::key;
use crate::meta::Meta;
use crate::store::{Store, StoreError, write_options};

/// Entries of a range's log that follow one another.
#[derive(Debug, Clone, Copy)]
pub struct Entries<'a> {
    /// What they do, in order.
    pub commands: &'a [Command],
    /// Index of the last.
    pub index: u64,
    /// Its term.
    pub term: u64,
    /// The descriptor behind them, where they change it.
    pub descriptor: Option<&'a [u8]>,
}

/// What was applied.
#[derive(Debug)]
pub struct Applied {
    /// What is known of the range now.
    pub meta: Meta,
    /// The greatest version that they wrote.
    pub written: Version,
    /// What became of each command.
    pub verdicts: Vec<Verdict>,
}

impl Store {
    /// Applies entries of a range's log.
    ///
    /// # Errors
    /// See [`StoreError`]; nothing was applied, and `state` is not to be used any more.
    pub fn apply(
        &self,
        group: u64,
        meta: &Meta,
        state: &mut State,
        entries: Entries<'_>,
    ) -> Result<Applied, StoreError> {
        let mut meta = Meta {
            applied: entries.index,
            term: entries.term,
            ..*meta
        };
        let mut rows = Batch {
            store: self,
            place: meta.place,
            batch: WriteBatch::default(),
            rows: None,
            stored: HashMap::default(),
            written: HashMap::default(),
            records: HashMap::default(),
            ids: HashMap::default(),
            gone: Version(0),
        };
        let mut verdicts = Vec::with_capacity(entries.commands.len());
        let mut written = Version(0);
        for command in entries.commands {
            let verdict = state.apply(&mut rows, command)?;
            if let Command::Lease { until } = command {
                meta.greatest = meta.greatest.max(*until);
            }
            let at = command.at_keys().map_or(Version(0), |(at, _, _)| at);
            if matches!(verdict, Verdict::Done | Verdict::Committed) {
                written = written.max(at);
            }
            verdicts.push(verdict);
        }
        meta.greatest = meta.greatest.max(written);
        meta.watermark = state.watermark();
        meta.drops = state.drops();
        let mut batch = rows.batch;
        batch.put(key::of_group(group), meta.encode());
        if let Some(descriptor) = entries.descriptor {
            batch.put(key::of_descriptor(group), descriptor);
        }
        self.db.write_opt(batch, &write_options())?;
        for (key, (version, value)) in &rows.written {
            // A key that is written again is likely to be read, and written, once more; then no file is searched for it.
            let stored = rows.stored.get(key).copied().flatten();
            let is_kept = stored.is_some_and(|(stored, _)| stored < *version);
            let newest = is_kept.then(|| Found {
                version: *version,
                // A copy: the value is a part of its entry.
                value: value.as_ref().map(|value| Bytes::copy_from_slice(value)),
            });
            self.written(meta.place, key, newest);
        }
        Ok(Applied {
            meta,
            written,
            verdicts,
        })
    }
}

/// What entries change, before it is written.
struct Batch<'a> {
    store: &'a Store,
    place: u32,
    batch: WriteBatch,
    /// What was stored before; made when it is first looked at.
    rows: Option<Versions<'a>>,
    /// The newest versions there, of keys that were looked for.
    stored: HashMap<Bytes, Option<(Version, bool)>>,
    /// Keys that the batch has written, with their newest version and its value.
    written: HashMap<Bytes, (Version, Option<Bytes>)>,
    records: HashMap<Version, Record>,
    ids: HashMap<Bytes, IdRecord>,
    /// Records up to this are gone, but those that were put since.
    gone: Version,
}

impl Rows for Batch<'_> {
    type Error = StoreError;

    fn newest(&mut self, key: &Bytes) -> Result<Option<(Version, bool)>, StoreError> {
        let stored = match self.stored.get(key) {
            Some(known) => *known,
            None => {
                let newest = match self.store.cached_version(self.place, key) {
                    Some(version) => Some((version, true)),
                    None => {
                        let versions = || self.store.versions(Tier::Disk);
                        let rows = self.rows.get_or_insert_with(versions);
                        rows.newest(self.place, key)?
                    }
                };
                self.stored.insert(key.clone(), newest);
                newest
            }
        };
        let written = self.written.get(key);
        let written = written.map(|(version, value)| (*version, value.is_some()));
        Ok(stored.max(written))
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
        self.store.name(self.place, id)
    }

    fn put_id(&mut self, id: &Id, record: &IdRecord) {
        let row = key::of_name(self.place, id.ms, &id.name);
        self.batch.put(row, record.encode());
        self.ids.insert(id.name.clone(), *record);
    }

    fn put_version(&mut self, key: &Bytes, version: Version, value: Option<&Bytes>) {
        let row = key::of_version(self.place, key, version);
        self.batch.put(row, encode(value.map(|value| &value[..])));
        let newest = self.written.entry(key.clone()).or_default();
        if version >= newest.0 {
            *newest = (version, value.cloned());
        }
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
