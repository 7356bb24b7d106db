//! What the store's tests share.
#![allow(dead_code)]

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use dunlin_entry::{Entry, Kind, Origin, Position, Stamp, Version};
use dunlin_store::{
    CacheSizes, Lookup, SharedResources, Store, StoreError, StoreOptions, Tier, Versioned,
};

pub const KEYSPACE: u32 = 7;

const CACHES: CacheSizes = CacheSizes {
    block_bytes: 8 << 20,
    row_bytes: 1 << 20,
};

/// A clock that stands still until told.
#[derive(Clone, Default)]
pub struct TestClock(Arc<AtomicU64>);

impl TestClock {
    pub fn set(&self, ms: u64) {
        self.0.store(ms, Ordering::SeqCst);
    }
}

pub fn shared() -> SharedResources {
    static SHARED: OnceLock<SharedResources> = OnceLock::new();
    SHARED
        .get_or_init(|| SharedResources::new(CACHES, 1).unwrap())
        .clone()
}

pub fn options(clock: &TestClock, grace_ms: Option<u64>) -> StoreOptions {
    let clock = clock.clone();
    let mut options = StoreOptions::new(shared(), Arc::new(move || clock.0.load(Ordering::SeqCst)));
    options.tombstone_grace = Arc::new(move |_| grace_ms.map(Duration::from_millis));
    options
}

/// Opens a store that remembers deletes for ever.
pub fn open(path: &Path) -> Store {
    Store::open(path, &options(&TestClock::default(), None)).unwrap()
}

pub fn stamp(version: u64, origin: u64) -> Stamp {
    Stamp::new(Version(version), Origin(origin))
}

pub fn put(key: &str, value: &str, stamp: Stamp) -> Entry {
    Entry {
        kind: Kind::Put,
        copy: false,
        from: 3,
        partition: 0,
        keyspace: KEYSPACE,
        stamp,
        logged: None,
        expiry_ms: None,
        is_expiry: false,
        replaces: None,
        key: Bytes::copy_from_slice(key.as_bytes()),
        value: Bytes::copy_from_slice(value.as_bytes()),
    }
}

/// A put whose value's time is over at `expiry_ms`.
pub fn expiring(key: &str, value: &str, stamp: Stamp, expiry_ms: u64) -> Entry {
    Entry {
        expiry_ms: Some(expiry_ms),
        ..put(key, value, stamp)
    }
}

/// The delete that ends what `entry` put, as some other shard logged it.
pub fn end_of(entry: &Entry) -> Entry {
    Entry {
        kind: Kind::Delete,
        is_expiry: true,
        logged: Some(Box::new(Position::new(Origin(9), Version(u64::MAX >> 1)))),
        value: Bytes::new(),
        ..entry.clone()
    }
}

pub fn delete(key: &str, stamp: Stamp) -> Entry {
    Entry {
        kind: Kind::Delete,
        ..put(key, "", stamp)
    }
}

pub fn flush(store: &Store) {
    // On a busy machine the flushes begun before may still wait.
    while let Err(error) = store.flush_begin() {
        assert_eq!(error, StoreError::Stalled);
        store.flush_wait().unwrap();
    }
    store.flush_wait().unwrap();
}

/// The record of a key of partition 0, from disk if need be.
pub fn get(store: &Store, key: &str) -> Option<Versioned> {
    match store.get(KEYSPACE, 0, key.as_bytes(), Tier::Disk).unwrap() {
        Lookup::Value(versioned) => Some(versioned),
        Lookup::Absent => None,
        Lookup::NeedsDisk => panic!("a disk read never needs the disk"),
    }
}

/// The value of a key of partition 0.
pub fn text(store: &Store, key: &str) -> Option<String> {
    let record = get(store, key)?;
    Some(String::from_utf8(record.value.to_vec()).unwrap())
}

/// The store's SST files.
pub fn tables(path: &Path) -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(path)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|file| file.extension().is_some_and(|ext| ext == "sst"))
        .collect();
    files.sort();
    files
}
