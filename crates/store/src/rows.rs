//! Rows: records read lately, so that reading one again does not walk the memtable and the files.

use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError};

use quick_cache::sync::Cache;
use quick_cache::{Equivalent, Weighter};

use crate::Versioned;

/// What a row costs besides its key and value: the structures here, and two allocations.
const ROW_BYTES: usize = 192;
/// A larger row is not kept: the block cache holds such values well enough.
const ROW_BYTES_MAX: usize = 16 << 10;
/// Keys whose hashes agree in this many values share a generation.
const STRIPES: usize = 256;

/// The rows of all stores of a process, the least used forgotten first. The hasher has no random
/// seed, so that a simulation replays.
pub(crate) type RowCache = Cache<Row, Versioned, ByBytes, BuildHasherDefault<DefaultHasher>>;

/// A cache that holds about `bytes`, filled as rows are read.
pub(crate) fn row_cache(bytes: usize) -> RowCache {
    // The number of rows is only where the tables start: an idle process does not pay for rows.
    Cache::with(
        1024,
        bytes as u64,
        ByBytes,
        BuildHasherDefault::default(),
        quick_cache::sync::DefaultLifecycle::default(),
    )
}

/// One store's part of the cache.
///
/// A write forgets its row after RocksDB has it and before it is acknowledged. A reader on
/// another thread may have looked the old value up before and keep it after: the generation it
/// noted first then no longer holds, and it keeps nothing.
pub struct Rows {
    cache: Arc<RowCache>,
    store: u64,
    generations: Box<[Mutex<u64>]>,
    pub(crate) hits: AtomicU64,
    pub(crate) misses: AtomicU64,
}

/// A generation, noted before the store is read.
#[derive(Clone, Copy, Debug)]
pub struct Noted(u64);

impl Rows {
    /// `store` must differ between all stores that share the cache.
    pub(crate) fn new(cache: Arc<RowCache>, store: u64) -> Self {
        Self {
            cache,
            store,
            generations: (0..STRIPES).map(|_| Mutex::new(0)).collect(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// The record held for `key`, whose hash is `hash`.
    pub fn get(&self, hash: u64, key: &[u8]) -> Option<Versioned> {
        self.cache.get(&self.place(hash, key))
    }

    /// To be called before the store is read.
    pub fn note(&self, hash: u64) -> Noted {
        Noted(*self.generation(hash))
    }

    /// Keeps what the store held for `key`, unless it was written since `noted`.
    pub fn keep(&self, hash: u64, key: &[u8], noted: Noted, versioned: &Versioned) {
        // Who deletes a key seldom reads it.
        if versioned.tombstone || key.len() + versioned.value.len() > ROW_BYTES_MAX {
            return;
        }
        let generation = self.generation(hash);
        if *generation == noted.0 {
            let row = Row {
                hash,
                store: self.store,
                key: key.into(),
            };
            self.cache.insert(row, versioned.clone());
        }
    }

    /// Forgets what was just written, by the hash of its key: to forget another key's row with it
    /// does no harm.
    pub fn forget(&self, hash: u64) {
        let mut generation = self.generation(hash);
        *generation += 1;
        self.cache.remove(&AnyKey {
            hash,
            store: self.store,
        });
    }

    /// Forgets the rows of a range that was just dropped, `to` excluded.
    pub fn forget_range(&self, from: &[u8], to: &[u8]) {
        for stripe in &self.generations {
            *lock(stripe) += 1;
        }
        let stays = |row: &Row| row.store != self.store || *row.key < *from || *row.key >= *to;
        self.cache.retain(|row, _| stays(row));
    }

    fn generation(&self, hash: u64) -> MutexGuard<'_, u64> {
        lock(&self.generations[hash as usize % STRIPES])
    }

    fn place<'a>(&self, hash: u64, key: &'a [u8]) -> Place<'a> {
        Place {
            hash,
            store: self.store,
            key,
        }
    }
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows").field("store", &self.store).finish()
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        self.cache.retain(|row, _| row.store != self.store);
    }
}

/// A number is consistent between any two statements.
fn lock(stripe: &Mutex<u64>) -> MutexGuard<'_, u64> {
    stripe.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where a row is kept: the key as RocksDB sees it.
#[derive(PartialEq, Eq)]
pub(crate) struct Row {
    hash: u64,
    store: u64,
    key: Box<[u8]>,
}

impl Hash for Row {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.hash ^ self.store).hash(state);
    }
}

/// A [`Row`] that borrows its key.
struct Place<'a> {
    hash: u64,
    store: u64,
    key: &'a [u8],
}

impl Hash for Place<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.hash ^ self.store).hash(state);
    }
}

impl Equivalent<Row> for Place<'_> {
    fn equivalent(&self, row: &Row) -> bool {
        self.hash == row.hash && self.store == row.store && *self.key == *row.key
    }
}

/// Whatever [`Row`] has this hash.
struct AnyKey {
    hash: u64,
    store: u64,
}

impl Hash for AnyKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.hash ^ self.store).hash(state);
    }
}

impl Equivalent<Row> for AnyKey {
    fn equivalent(&self, row: &Row) -> bool {
        self.hash == row.hash && self.store == row.store
    }
}

/// A row weighs the bytes it takes.
#[derive(Clone)]
pub(crate) struct ByBytes;

impl Weighter<Row, Versioned> for ByBytes {
    fn weight(&self, row: &Row, versioned: &Versioned) -> u64 {
        (ROW_BYTES + row.key.len() + versioned.value.len()) as u64
    }
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
