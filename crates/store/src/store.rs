//! Store: the handle.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dunlin_entry::{DecodeError, Version};
use rocksdb::{ColumnFamily, DB, Env, ReadOptions, WriteOptions};

use crate::changes::Changes;
use crate::rows::Rows;
use crate::stripes::Stripes;
use crate::tuning::META;
use crate::{Clock, Grace, StoreError};

/// Versioned values of one shard. A clone is another handle on the same store; dropping the last
/// one without [`Store::close`] forgets what was not flushed, as a crash would.
#[derive(Clone)]
pub struct Store {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub db: DB,
    pub path: PathBuf,
    pub env: Env,
    pub grace: Grace,
    pub now_ms: Clock,
    /// The clock as last seen by a caller's thread; RocksDB's threads read this one.
    pub clock_ms: Arc<AtomicU64>,
    pub read_memory: ReadOptions,
    pub read_disk: ReadOptions,
    pub write: WriteOptions,
    /// Index of the last log record contained.
    pub applied: AtomicU64,
    /// Index of the last log record contained in SST files.
    pub flushed: AtomicU64,
    /// Index contained in SST files once the flushes begun so far are done.
    pub flushing: AtomicU64,
    /// Whether room is held back for the next opening.
    pub has_spare: AtomicBool,
    /// Bytes applied since the last switch of the memtable.
    pub memtable_bytes: AtomicU64,
    pub rows: Rows,
    pub writer: Mutex<Writer>,
}

/// What only one thread may touch at a time.
pub(crate) struct Writer {
    pub stripes: Stripes,
    pub changes: Changes,
    /// The stored upper bound of all versions in the store.
    pub bound: Version,
    pub key: Vec<u8>,
    pub record: Vec<u8>,
}

impl Store {
    /// Index of the last log record whose effect the store holds. After opening, replay the log
    /// from the next one.
    pub fn applied(&self) -> u64 {
        self.inner.applied.load(Ordering::Acquire)
    }

    /// Flushes everything and lets go of the store. Sync the log first. The files are released
    /// when the last clone, snapshot and merge are dropped.
    ///
    /// # Errors
    /// Those of [`Store::flush_begin`] and [`Store::flush_wait`]; the store is then as after a
    /// crash, which is safe.
    pub fn close(self) -> Result<(), StoreError> {
        match self.flush_begin() {
            // On a busy machine those begun before are still being written.
            Err(StoreError::Stalled) => {
                self.flush_wait()?;
                self.flush_begin()?;
            }
            begun => {
                begun?;
            }
        }
        self.flush_wait()?;
        Ok(())
    }
}

impl Inner {
    /// The writer's state. It is consistent between any two statements, so a thread that
    /// panicked while it held the lock has spoilt nothing.
    pub fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the caller's clock, and shows it to RocksDB's threads.
    pub fn tick(&self) -> u64 {
        let now_ms = (self.now_ms)();
        // Not the greatest ever seen: a clock that jumped ahead and was set right must not go on
        // ageing tombstones.
        self.clock_ms.store(now_ms, Ordering::Relaxed);
        now_ms
    }

    /// Counts what was written beside the log's entries.
    pub fn grow(&self, bytes: usize) {
        self.memtable_bytes
            .fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub fn meta(&self) -> Result<&ColumnFamily, StoreError> {
        family(&self.db, META)
    }

    pub fn error(&self, error: rocksdb::Error) -> StoreError {
        StoreError::of(&self.path, error)
    }

    /// A record that RocksDB vouches for but that is none of ours.
    pub fn damaged(&self, error: &DecodeError) -> StoreError {
        damaged(&self.path, error)
    }
}

pub(crate) fn family<'a>(db: &'a DB, name: &str) -> Result<&'a ColumnFamily, StoreError> {
    db.cf_handle(name).ok_or_else(|| StoreError::Refused {
        detail: format!("column family {name} is missing"),
    })
}

pub(crate) fn damaged(path: &Path, error: &DecodeError) -> StoreError {
    StoreError::Damaged {
        file: path.to_path_buf(),
        detail: error.to_string(),
    }
}
