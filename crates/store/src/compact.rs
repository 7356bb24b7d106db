//! Compact: forgetting the dead without waiting for RocksDB to come round to them.

use rocksdb::{BottommostLevelCompaction, CompactOptions};

use crate::store::family;
use crate::tuning::DATA;
use crate::{Store, StoreError};

impl Store {
    /// Rewrites all SST files, dropping overwritten records and whatever has outlived its grace.
    /// RocksDB flushes memory first, so sync the log up to [`Store::applied`] before and apply
    /// nothing meanwhile. Blocks its thread, for long on a large store.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], [`StoreError::NoSpace`] or [`StoreError::Io`] when background
    /// work was stopped.
    pub fn compact(&self) -> Result<(), StoreError> {
        let inner = &*self.inner;
        inner.tick();
        let mut options = CompactOptions::default();
        options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
        options.set_exclusive_manual_compaction(false);
        inner.db.compact_range_cf_opt(
            family(&inner.db, DATA)?,
            None::<&[u8]>,
            None::<&[u8]>,
            &options,
        );
        inner.check_background()
    }
}
