//! Compact: forgetting the dead without waiting for RocksDB to come round to them.

use rocksdb::{BottommostLevelCompaction, CompactOptions};

use crate::store::family;
use crate::tuning::DATA;
use crate::{Store, StoreError, key};

impl Store {
    /// Rewrites all SST files, dropping overwritten records and whatever has outlived its grace.
    /// RocksDB flushes memory first, so sync the log up to [`Store::applied`] before and apply
    /// nothing meanwhile. Blocks its thread, for long on a large store.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], [`StoreError::NoSpace`] or [`StoreError::Io`] when background
    /// work was stopped.
    pub fn compact(&self) -> Result<(), StoreError> {
        self.compact_range(None, None)
    }

    /// Gives back what a dropped keyspace has left in files that it shares with others: only those
    /// are rewritten. Flush after the drop and before this, or RocksDB flushes memory as in
    /// [`Store::compact`]. Blocks its thread.
    ///
    /// RocksDB leaves out what it finds no room for without saying so, and keeps what a snapshot
    /// still sees: [`Store::keyspace_bytes`] says whether anything has stayed.
    ///
    /// # Errors
    /// As [`Store::compact`].
    pub fn compact_keyspace(&self, keyspace: u32) -> Result<(), StoreError> {
        key::check_keyspace(keyspace)?;
        let (from, to) = (key::prefix(keyspace, 0), key::after(keyspace, u16::MAX));
        self.compact_range(Some(&from), Some(&to))
    }

    fn compact_range(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> Result<(), StoreError> {
        let inner = &*self.inner;
        inner.tick();
        let mut options = CompactOptions::default();
        options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
        options.set_exclusive_manual_compaction(false);
        let family = family(&inner.db, DATA)?;
        inner.db.compact_range_cf_opt(family, from, to, &options);
        inner.check_background()
    }
}
