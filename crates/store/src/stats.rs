//! Stats: numbers for operators and for back pressure.

use std::sync::atomic::Ordering;

use rocksdb::properties;

use crate::store::family;
use crate::tuning::{DATA, FAMILIES};
use crate::{Store, StoreError};

/// A store's numbers at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Records held, tombstones included; an estimate that counts overwritten and dropped ones too,
    /// until a flush and a compaction have met them: a few keys may pass for millions.
    pub keys_estimate: u64,
    /// Bytes of live SST files.
    pub sst_bytes: u64,
    /// Bytes of all memtables as RocksDB allocated them, those being flushed included.
    pub memtable_bytes: u64,
    /// Memtables waiting to be written.
    pub memtables_switched: u64,
    /// Files that reads must look into one by one; writes are refused from 64 on.
    pub level0_files: u64,
    /// Bytes that compactions still have to rewrite, estimated.
    pub compaction_debt_bytes: u64,
    /// Background errors since opening.
    pub background_errors: u64,
    /// Snapshots and merges that hold old data back.
    pub snapshots: u64,
}

impl Store {
    /// Reads that found their record among those read lately, and reads that did not.
    pub fn row_cache(&self) -> (u64, u64) {
        let rows = &self.inner.rows;
        (
            rows.hits.load(Ordering::Relaxed),
            rows.misses.load(Ordering::Relaxed),
        )
    }

    /// The store's numbers. Cheap, but not for every request.
    ///
    /// # Errors
    /// [`StoreError::Refused`] only.
    pub fn stats(&self) -> Result<Stats, StoreError> {
        let inner = &*self.inner;
        let number = |property| inner.number(DATA, property);
        let all = |property| {
            let each = FAMILIES.iter().map(|name| inner.number(name, property));
            each.sum::<Result<u64, StoreError>>()
        };
        let level0 = inner
            .db
            .property_int_value_cf(
                family(&inner.db, DATA)?,
                &*properties::num_files_at_level(0),
            )
            .map_err(|error| inner.error(error))?;
        Ok(Stats {
            keys_estimate: number(properties::ESTIMATE_NUM_KEYS)?,
            sst_bytes: all(properties::LIVE_SST_FILES_SIZE)?,
            memtable_bytes: all(properties::CUR_SIZE_ALL_MEM_TABLES)?,
            memtables_switched: inner.switched()?,
            level0_files: level0.unwrap_or(0),
            compaction_debt_bytes: number(properties::ESTIMATE_PENDING_COMPACTION_BYTES)?,
            background_errors: number(properties::BACKGROUND_ERRORS)?,
            snapshots: number(properties::NUM_SNAPSHOTS)?,
        })
    }
}
