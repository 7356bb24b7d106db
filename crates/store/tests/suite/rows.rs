//! Rows that were read lately are kept, and never outlive a write.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::common::*;
use dunlin_store::{Lookup, Tier};

/// A store that is closed and opened anew holds no block in memory that was not read.
#[test]
fn a_row_read_once_is_answered_from_memory() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let entries: Vec<_> = (0..1000)
        .map(|n| put(&format!("key-{n}"), &"v".repeat(200), stamp(5, 1)))
        .collect();
    store.apply(&entries, 1).unwrap();
    store.close().unwrap();
    let store = open(dir.path());
    let memory = |key: &str| {
        store
            .get(KEYSPACE, 0, key.as_bytes(), Tier::CacheOnly)
            .unwrap()
    };
    assert_eq!(memory("key-500"), Lookup::NeedsDisk);
    let read = get(&store, "key-500").unwrap();
    assert_eq!(memory("key-500"), Lookup::Value(read));
    store.apply(&[delete("key-500", stamp(6, 1))], 2).unwrap();
    assert!(get(&store, "key-500").unwrap().tombstone);
    store
        .apply(&[put("key-500", "new", stamp(7, 1))], 3)
        .unwrap();
    assert_eq!(get(&store, "key-500").unwrap().value, "new");
    store.drop_partition(KEYSPACE, 0).unwrap();
    assert_eq!(get(&store, "key-500"), None);
}

#[test]
fn a_reader_never_sees_less_than_what_was_acknowledged() {
    const WRITES: u64 = 30_000;
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let acknowledged = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let least = acknowledged.load(Ordering::SeqCst);
                    let seen = get(&store, "k").map_or(0, |row| row.stamp.version.0);
                    assert!(seen >= least, "{seen} was read after {least} was written");
                    if least == WRITES {
                        break;
                    }
                }
            });
        }
        for version in 1..=WRITES {
            store
                .apply(&[put("k", "v", stamp(version, 1))], version)
                .unwrap();
            acknowledged.store(version, Ordering::SeqCst);
        }
    });
}
