//! What a crash takes away and what it must not.

use crate::common::*;
use dunlin_entry::Version;
use dunlin_store::{Outcome, Store, StoreError};

#[test]
fn dropping_without_a_flush_forgets_data_and_position_together() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.apply(&[put("a", "1", stamp(1, 1))], 1).unwrap();
    flush(&store);
    assert_eq!(store.flushed_applied(), 1);
    store.apply(&[put("b", "2", stamp(2, 1))], 2).unwrap();
    assert_eq!((store.applied(), store.flushed_applied()), (2, 1));
    drop(store);

    let store = open(dir.path());
    assert_eq!((store.applied(), store.flushed_applied()), (1, 1));
    assert!(get(&store, "a").is_some());
    assert!(get(&store, "b").is_none());
}

#[test]
fn a_flush_covers_what_was_applied_when_it_began_and_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.apply(&[put("a", "1", stamp(1, 1))], 1).unwrap();
    assert_eq!(store.flush_begin().unwrap(), 1);
    store.apply(&[put("b", "2", stamp(2, 1))], 2).unwrap();
    assert_eq!(store.flush_wait().unwrap(), 1);
    drop(store);
    let store = open(dir.path());
    assert_eq!(store.applied(), 1);
    assert!(get(&store, "a").is_some() && get(&store, "b").is_none());
}

#[test]
fn closing_keeps_everything() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.apply(&[put("a", "1", stamp(1, 1))], 5).unwrap();
    store.close().unwrap();
    let store = open(dir.path());
    assert_eq!((store.applied(), store.flushed_applied()), (5, 5));
    assert!(get(&store, "a").is_some());
}

#[test]
fn rocksdb_never_flushes_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(&TestClock::default(), None);
    options.flush_bytes = 1 << 20;
    let store = Store::open(dir.path(), &options).unwrap();
    let value = "v".repeat(1000);
    // Far past any size at which RocksDB was told to open with.
    for round in 0..40 {
        let entries: Vec<_> = (0..1000)
            .map(|n| put(&format!("{round}-{n}"), &value, stamp(round + 1, n)))
            .collect();
        store.apply(&entries, round + 1).unwrap();
    }
    assert!(store.memtable_bytes() > 40_000_000);
    assert!(store.stats().unwrap().memtable_bytes > 40_000_000);
    assert_eq!(store.stats().unwrap().memtables_switched, 0);
    assert!(tables(dir.path()).is_empty());
    flush(&store);
    assert_eq!(store.memtable_bytes(), 0);
    assert!(!tables(dir.path()).is_empty());
}

/// After reopening the table knows nothing of single keys; an older entry that came as a blind
/// put would undo a newer one.
#[test]
fn older_entries_lose_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let held = stamp(Version::new(1_000_000, 0).0, 1);
    store.apply(&[put("k", "held", held)], 1).unwrap();
    store.close().unwrap();
    for reopened in 0..2 {
        let store = open(dir.path());
        for older_ms in [1, 999_000, 999_999] {
            let older = stamp(Version::new(older_ms, 0).0, 9);
            let outcome = store.apply(&[put("k", "older", older)], 2).unwrap();
            assert_eq!(
                outcome,
                [Outcome::Lost { newer: held.into() }],
                "{reopened}"
            );
        }
        let other = put(
            "other",
            "v",
            stamp(Version::new(5_000_000 + reopened, 0).0, 1),
        );
        assert_eq!(store.apply(&[other], 3).unwrap(), [Outcome::Won]);
        assert_eq!(get(&store, "k").unwrap().value, "held");
        store.close().unwrap();
    }
}

#[test]
fn two_handles_cannot_have_one_store() {
    let dir = tempfile::tempdir().unwrap();
    let _first = open(dir.path());
    let second = Store::open(dir.path(), &options(&TestClock::default(), None));
    assert!(matches!(second.err(), Some(StoreError::InUse { path }) if path == dir.path()));
}

#[test]
fn a_clone_keeps_the_store_open() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let clone = store.clone();
    store.apply(&[put("a", "1", stamp(1, 1))], 1).unwrap();
    drop(store);
    assert!(get(&clone, "a").is_some());
    clone.close().unwrap();
    assert!(get(&open(dir.path()), "a").is_some());
}
