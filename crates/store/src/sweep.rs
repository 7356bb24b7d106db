//! Sweep: dropping records that other replicas hold now.

use std::ops::Bound;

use rocksdb::WriteBatch;
use xxhash_rust::xxh3::xxh3_64;

use crate::open::{SWEPT_KEY, number};
use crate::record::Record;
use crate::scan::{bounded, range};
use crate::{Store, StoreError, key, tuning};

/// Records looked at in one step: writers wait meanwhile.
const STEP_RECORDS: usize = 128;

/// How far a partition has been thinned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thinned {
    /// Where the next step begins; `None` after the last.
    pub next: Option<Vec<u8>>,
    /// Bytes of keys and values looked at.
    pub bytes: usize,
}

impl Store {
    /// Drops the records of a partition whose `from` is not above `rank`, so that of the others a
    /// replica of this rank (from 0) is one: a few of them, from `start` on. Writers wait
    /// meanwhile, so let them have their turn before the next step. Like [`Store::drop_partition`]
    /// it is no log record. Blocks its thread.
    ///
    /// # Errors
    /// As [`Store::apply`].
    pub fn thin_partition(
        &self,
        keyspace: u32,
        partition: u16,
        rank: u8,
        start: &[u8],
    ) -> Result<Thinned, StoreError> {
        key::check_keyspace(keyspace)?;
        let inner = &*self.inner;
        let (from, to) = range(
            keyspace,
            partition,
            Bound::Included(start),
            Bound::Unbounded,
        );
        let mut done = Thinned {
            next: None,
            bytes: 0,
        };
        let mut batch = WriteBatch::default();
        let mut dropped = Vec::new();
        // What is read here must be what is dropped: nothing may be written in between.
        let mut writer = inner.writer();
        let mut iter = inner.db.raw_iterator_opt(bounded(tuning::read_bulk(), to));
        iter.seek(&from);
        let mut seen = 0;
        while let Some((full, value)) = iter.item() {
            if seen == STEP_RECORDS {
                done.next = Some(full.get(key::PREFIX_BYTES..).unwrap_or_default().to_vec());
                break;
            }
            seen += 1;
            done.bytes += full.len() + value.len();
            let record = Record::decode(value).map_err(|error| inner.damaged(&error))?;
            if record.from <= rank {
                batch.delete(full);
                dropped.push(xxh3_64(full));
            }
            iter.next();
        }
        iter.status().map_err(|error| inner.error(error))?;
        if !batch.is_empty() {
            inner
                .db
                .write_opt(batch, &inner.write)
                .map_err(|error| inner.error(error))?;
            writer.changes.of(keyspace);
        }
        drop(writer);
        for hash in dropped {
            inner.rows.forget(hash);
        }
        Ok(done)
    }

    /// Up to which change of the cluster's members everything that is not held here any more has
    /// been dropped; 0 at first.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], [`StoreError::Io`].
    pub fn swept(&self) -> Result<u64, StoreError> {
        let inner = &*self.inner;
        Ok(number(&inner.db, &inner.path, SWEPT_KEY)?.unwrap_or(0))
    }

    /// Notes what [`Store::swept`] answers. A crash before the next flush undoes it, and with it
    /// the drops.
    ///
    /// # Errors
    /// As [`Store::apply`].
    pub fn note_swept(&self, change: u64) -> Result<(), StoreError> {
        let inner = &*self.inner;
        let _writer = inner.writer();
        inner
            .db
            .put_cf_opt(inner.meta()?, SWEPT_KEY, change.to_le_bytes(), &inner.write)
            .map_err(|error| inner.error(error))
    }
}
