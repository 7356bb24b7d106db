//! Shared: what all stores of a process have in common.

use rocksdb::{Cache, Env};

use crate::StoreError;

/// The block cache and background threads of a process. Make one and clone it into every
/// store's options: memory and threads are then bounded for the process, not for each store.
#[derive(Clone)]
pub struct SharedResources {
    pub(crate) env: Env,
    pub(crate) cache: Cache,
}

impl SharedResources {
    /// Default size of the block cache. It fills as blocks are read; an idle process does not
    /// pay for it.
    pub const DEFAULT_CACHE_BYTES: usize = 64 << 20;

    /// Sets up a cache of `cache_bytes` and `background_threads` threads for compactions, plus
    /// one for flushes, which must not wait behind them.
    ///
    /// # Errors
    /// [`StoreError::Refused`] when RocksDB has no environment to run in.
    pub fn new(cache_bytes: usize, background_threads: u16) -> Result<Self, StoreError> {
        let mut env = Env::new().map_err(|error| StoreError::Refused {
            detail: error.into_string(),
        })?;
        env.set_low_priority_background_threads(i32::from(background_threads.max(1)));
        env.set_high_priority_background_threads(1);
        Ok(Self {
            env,
            cache: Cache::new_hyper_clock_cache(cache_bytes, 0),
        })
    }

    /// Bytes the block cache holds now.
    pub fn cache_bytes(&self) -> usize {
        self.cache.get_usage()
    }
}
