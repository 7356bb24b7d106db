//! Sweep: dropping records that other replicas hold now.

use std::ops::Bound;

use rocksdb::WriteBatch;

use crate::open::{SWEPT_KEY, number};
use crate::record::Record;
use crate::scan::{bounded, range};
use crate::{Store, StoreError, key, tuning};

/// Records looked at while writers wait.
const STEP_RECORDS: usize = 512;

impl Store {
    /// Drops the records of a partition whose `from` is not above `rank`, so that of the others a
    /// replica of this rank (from 0) is one. Like [`Store::drop_partition`] it is no log record.
    /// Blocks its thread.
    ///
    /// # Errors
    /// As [`Store::apply`].
    pub fn thin_partition(
        &self,
        keyspace: u32,
        partition: u16,
        rank: u8,
    ) -> Result<(), StoreError> {
        key::check_keyspace(keyspace)?;
        let inner = &*self.inner;
        let (mut from, to) = range(keyspace, partition, Bound::Unbounded, Bound::Unbounded);
        let mut dropped = false;
        loop {
            // What is read here must be what is dropped: nothing may be written in between.
            let writer = inner.writer();
            let read = bounded(tuning::read_bulk(), to.clone());
            let mut iter = inner.db.raw_iterator_opt(read);
            iter.seek(&from);
            let mut batch = WriteBatch::default();
            let mut seen = 0;
            while let Some((full, value)) = iter.item() {
                if seen == STEP_RECORDS {
                    break;
                }
                seen += 1;
                let record = Record::decode(value).map_err(|error| inner.damaged(&error))?;
                if record.from <= rank {
                    batch.delete(full);
                }
                from.clear();
                from.extend_from_slice(full);
                from.push(0);
                iter.next();
            }
            iter.status().map_err(|error| inner.error(error))?;
            if !batch.is_empty() {
                dropped = true;
                inner
                    .db
                    .write_opt(batch, &inner.write)
                    .map_err(|error| inner.error(error))?;
            }
            drop(writer);
            if seen < STEP_RECORDS {
                break;
            }
        }
        if dropped {
            inner.rows.forget_all();
        }
        Ok(())
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
