//! Shared: what all stores of a process have in common.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rocksdb::{Cache, Env};

use crate::StoreError;
use crate::rows::{RowCache, Rows, row_cache};

/// How much memory the stores of a process may use to read faster. Both caches fill as they are
/// read; an idle process does not pay for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSizes {
    /// Blocks of files, with their indexes and filters, in bytes.
    pub block_bytes: usize,
    /// Single records, in bytes; 0 for none.
    pub row_bytes: usize,
}

/// The caches and background threads of a process. Make one and clone it into every
/// store's options: memory and threads are then bounded for the process, not for each store.
#[derive(Clone)]
pub struct SharedResources {
    pub(crate) env: Env,
    pub(crate) cache: Cache,
    rows: Arc<RowCache>,
    stores: Arc<AtomicU64>,
}

impl SharedResources {
    /// Sets up caches and `background_threads` threads for compactions, plus
    /// one for flushes, which must not wait behind them.
    ///
    /// # Errors
    /// [`StoreError::Refused`] when RocksDB has no environment to run in.
    pub fn new(caches: CacheSizes, background_threads: u16) -> Result<Self, StoreError> {
        let mut env = Env::new().map_err(|error| StoreError::Refused {
            detail: error.into_string(),
        })?;
        env.set_low_priority_background_threads(i32::from(background_threads.max(1)));
        env.set_high_priority_background_threads(1);
        Ok(Self {
            env,
            cache: Cache::new_hyper_clock_cache(caches.block_bytes, 0),
            rows: Arc::new(row_cache(caches.row_bytes)),
            stores: Arc::default(),
        })
    }

    /// Bytes the block cache holds now.
    pub fn cache_bytes(&self) -> usize {
        self.cache.get_usage()
    }

    /// A part of the row cache for one more store.
    pub(crate) fn rows(&self) -> Rows {
        Rows::new(
            self.rows.clone(),
            self.stores.fetch_add(1, Ordering::Relaxed),
        )
    }
}
