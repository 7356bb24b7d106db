//! Expiry: what has one, by time, so that what is over is found without a look at all there is.
//!
//! Column family `expiry`: key `expiry_ms u64 big-endian | key in `default``, no value
//! (`docs/formats.md`, section 3). It is a list of where to look: the record alone says what is true, and
//! a name on the list that no record bears out is struck off.

use bytes::Bytes;
use dunlin_entry::{Replaces, Stamp};
use rocksdb::{DBRawIterator, WriteBatch, properties};

use crate::apply::Place;
use crate::record::Record;
use crate::store::{Inner, family};
use crate::tuning::{self, EXPIRY};
use crate::{Store, StoreError, key};

/// Names struck off in one step: writers wait meanwhile.
const STEP_RECORDS: usize = 128;
const TIME_BYTES: usize = 8;
/// What a memtable spends on a name besides its key, roughly.
const NODE_BYTES: usize = 64;

/// A value whose time is over. The fields are those of its record.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Expired {
    pub keyspace: u32,
    pub partition: u16,
    pub key: Bytes,
    pub stamp: Stamp,
    pub from: u8,
    pub replaces: Option<Replaces>,
    pub expiry_ms: u64,
}

/// Some of what is over, the longest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExpiredPage {
    /// Values.
    pub items: Vec<Expired>,
    /// Where to go on; `None` when there is no more by now.
    pub next: Option<Vec<u8>>,
}

/// Replaces `out` with the name of what is over at `expiry_ms`.
pub(crate) fn encode(out: &mut Vec<u8>, expiry_ms: u64, (keyspace, partition, user): Place<'_>) {
    out.clear();
    out.extend_from_slice(&expiry_ms.to_be_bytes());
    out.extend_from_slice(&key::prefix(keyspace, partition));
    out.extend_from_slice(user);
}

impl Store {
    /// The place in the list before which all is over by `until_ms` (milliseconds since 1970).
    pub fn expired_from(until_ms: u64) -> Vec<u8> {
        until_ms.to_be_bytes().to_vec()
    }

    /// Values whose time is over at `until_ms`, from `start` in the list on, at most `max` names
    /// looked at. Names that are out of date are struck off. Blocks its thread.
    ///
    /// # Errors
    /// As [`Store::apply`].
    pub fn expired_page(
        &self,
        start: &[u8],
        until_ms: u64,
        max: usize,
    ) -> Result<ExpiredPage, StoreError> {
        let inner = &*self.inner;
        let list = family(&inner.db, EXPIRY)?;
        let mut read = tuning::read_bulk();
        read.set_iterate_upper_bound(until_ms.saturating_add(1).to_be_bytes());
        let mut iter = inner.db.raw_iterator_cf_opt(list, read);
        iter.seek(start);
        let mut page = ExpiredPage::default();
        let mut stale = Vec::new();
        let mut looked = 0;
        while let Some(name) = iter.key() {
            if looked == max {
                page.next = Some(name.to_vec());
                break;
            }
            looked += 1;
            match expired(inner, name)? {
                Some(item) => page.items.push(item),
                None => stale.push(name.to_vec()),
            }
            iter.next();
        }
        checked(inner, &iter)?;
        for some in stale.chunks(STEP_RECORDS) {
            strike(inner, some)?;
        }
        Ok(page)
    }

    /// Names on the list, estimated: those too that stand for nothing any more.
    ///
    /// # Errors
    /// [`StoreError::Refused`] only.
    pub fn expiry_names(&self) -> Result<u64, StoreError> {
        self.inner.number(EXPIRY, properties::ESTIMATE_NUM_KEYS)
    }
}

/// When a value's time is over; `None` for what lasts, and for deletes.
fn ends_at(record: &Record<'_>) -> Option<u64> {
    record.expiry_ms.filter(|_| !record.tombstone)
}

/// The value that a name on the list stands for; `None` when there is no such value any more.
fn expired(inner: &Inner, name: &[u8]) -> Result<Option<Expired>, StoreError> {
    let Some((time, full)) = name.split_first_chunk::<TIME_BYTES>() else {
        return Ok(None);
    };
    let expiry_ms = u64::from_be_bytes(*time);
    let held = inner
        .db
        .get_pinned_opt(full, &inner.read_disk)
        .map_err(|error| inner.error(error))?;
    let (Some(held), Some((keyspace, partition, user))) = (held, key::decode(full)) else {
        return Ok(None);
    };
    let record = Record::decode(&held).map_err(|error| inner.damaged(&error))?;
    let is_it = ends_at(&record) == Some(expiry_ms);
    Ok(is_it.then(|| Expired {
        keyspace,
        partition,
        key: Bytes::copy_from_slice(user),
        stamp: record.stamp,
        from: record.from,
        replaces: record.replaces,
        expiry_ms,
    }))
}

/// Strikes names off that still stand for nothing.
fn strike(inner: &Inner, names: &[Vec<u8>]) -> Result<(), StoreError> {
    let list = family(&inner.db, EXPIRY)?;
    let mut batch = WriteBatch::default();
    // What is found here must be so when it is struck off: nothing may be written in between.
    let _writer = inner.writer();
    let mut bytes = 0;
    for name in names {
        if expired(inner, name)?.is_none() {
            batch.delete_cf(list, name);
            bytes += name.len() + NODE_BYTES;
        }
    }
    inner
        .db
        .write_opt(batch, &inner.write)
        .map_err(|error| inner.error(error))?;
    inner.grow(bytes);
    Ok(())
}

fn checked(inner: &Inner, iter: &DBRawIterator<'_>) -> Result<(), StoreError> {
    iter.status().map_err(|error| inner.error(error))
}
