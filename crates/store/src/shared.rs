//! Shared: what all stores of a process have in common.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rocksdb::{Cache, Env, Options};
use rustix::process::{getpriority_process, setpriority_process};

use crate::rows::{RowCache, Rows, row_cache};
use crate::{StoreError, tuning};

/// How much memory the stores of a process may use to read faster. Both caches fill as they are
/// read; an idle process does not pay for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSizes {
    /// Blocks of files, with their indexes and filters, in bytes.
    pub block_bytes: usize,
    /// Single records, in bytes; 0 for none.
    pub row_bytes: usize,
}

/// By how much the background threads are nicer than the rest of the process: where the processors
/// do not suffice for all, requests come first, and a thread gets a quarter of what another does.
const NICER: i32 = 5;

/// Files that a store keeps open, where nothing else is said.
pub const OPEN_FILES: u16 = 256;

/// The caches and background threads of a process. Make one and clone it into every
/// store's options: memory and threads are then bounded for the process, not for each store.
#[derive(Clone)]
pub struct SharedResources {
    pub(crate) env: Env,
    pub(crate) cache: Cache,
    rows: Arc<RowCache>,
    /// See [`SharedResources::with_open_files`].
    pub(crate) open_files: u16,
    stores: Arc<AtomicU64>,
}

impl SharedResources {
    /// Sets up caches and `background_threads` threads for compactions, plus
    /// one for flushes, which must not wait behind them.
    ///
    /// # Errors
    /// [`StoreError::Refused`] when RocksDB has no environment to run in.
    pub fn new(caches: CacheSizes, background_threads: u16) -> Result<Self, StoreError> {
        Ok(Self {
            env: environment(background_threads)?,
            cache: Cache::new_hyper_clock_cache(caches.block_bytes, 0),
            rows: Arc::new(row_cache(caches.row_bytes)),
            open_files: OPEN_FILES,
            stores: Arc::default(),
        })
    }

    /// With so many files that each store keeps open at most, where a process may not open many.
    #[must_use]
    pub fn with_open_files(self, open_files: u16) -> Self {
        Self { open_files, ..self }
    }

    /// Options of a database beside the stores, which shares their cache and threads. What it holds can be made
    /// anew: it has no log, and keeps `memtable_bytes` in memory before it writes them.
    pub fn database_beside(&self, memtable_bytes: usize) -> Options {
        tuning::database_beside(self, memtable_bytes)
    }

    /// Bytes the block cache holds now.
    pub fn cache_bytes(&self) -> usize {
        self.cache.get_usage()
    }

    /// A part of the row cache for one more store.
    pub fn rows(&self) -> Rows {
        Rows::new(
            self.rows.clone(),
            self.stores.fetch_add(1, Ordering::Relaxed),
        )
    }
}

/// RocksDB's environment, with its threads started.
fn environment(background_threads: u16) -> Result<Env, StoreError> {
    let refused = |detail: String| StoreError::Refused { detail };
    let start = move || {
        // RocksDB starts its threads at once, and a thread is as nice as the one that started it.
        // They work as well, if less politely, where that is refused. `None` is this thread.
        let _ = getpriority_process(None).and_then(|nice| setpriority_process(None, nice + NICER));
        let mut env = Env::new()?;
        env.set_low_priority_background_threads(i32::from(background_threads.max(1)));
        env.set_high_priority_background_threads(1);
        Ok::<_, rocksdb::Error>(env)
    };
    let starter = thread::Builder::new()
        .spawn(start)
        .map_err(|error| refused(error.to_string()))?;
    match starter.join() {
        Ok(env) => env.map_err(|error| refused(error.into_string())),
        Err(_) => Err(refused("the thread that starts it ended early".to_owned())),
    }
}
