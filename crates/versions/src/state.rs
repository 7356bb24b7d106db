//! Intents and records of transactions, into memory.

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_txn::{Id, IdRecord, Intent, Record, State};
use rocksdb::{Direction, IteratorMode};

use crate::get::damaged;
use crate::key::{self, INTENTS, RECORDS};
use crate::meta::Meta;
use crate::store::{Store, StoreError, in_order};

impl Store {
    /// What of a range is kept in memory, as it is stored. May wait for the disk.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn state(&self, meta: &Meta) -> Result<State, StoreError> {
        let mut state = State::new(meta.watermark, meta.drops);
        self.each(meta.place, INTENTS, |key, value| {
            let intent = Intent::decode(value).map_err(|_| damaged("an intent"))?;
            state.load_intent(key, intent);
            Ok(())
        })?;
        self.each(meta.place, RECORDS, |txn, value| {
            let txn = <[u8; 8]>::try_from(&txn[..]).map_err(|_| damaged("a record"))?;
            let record = Record::decode(value).map_err(|_| damaged("a record"))?;
            state.load_record(Version(u64::from_be_bytes(txn)), record);
            Ok(())
        })?;
        Ok(state)
    }

    /// The record of a transaction.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub(crate) fn record(&self, place: u32, txn: Version) -> Result<Option<Record>, StoreError> {
        let Some(value) = self.db.get(key::of_record(place, txn))? else {
            return Ok(None);
        };
        let record = Record::decode(value.into());
        record.map(Some).map_err(|_| damaged("a record"))
    }

    /// Whether a transaction has committed, if its record is here.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn is_committed(&self, place: u32, txn: Version) -> Result<Option<bool>, StoreError> {
        Ok(self.record(place, txn)?.map(|record| record.is_committed()))
    }

    /// The record of a name.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn name(&self, place: u32, id: &Id) -> Result<Option<IdRecord>, StoreError> {
        let stored = self.db.get(key::of_name(place, id.ms, &id.name))?;
        let record = stored.map(|stored| IdRecord::decode(stored.into()));
        record
            .transpose()
            .map_err(|_| damaged("the record of a name"))
    }

    fn each(
        &self,
        place: u32,
        kind: u8,
        mut take: impl FnMut(Bytes, Bytes) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let prefix = key::of_kind(place, kind);
        let from = IteratorMode::From(&prefix, Direction::Forward);
        for row in self.db.iterator_opt(from, in_order()) {
            let (row, value) = row?;
            let Some(rest) = row.strip_prefix(&prefix[..]) else {
                break;
            };
            take(Bytes::copy_from_slice(rest), Bytes::from(value))?;
        }
        Ok(())
    }
}
