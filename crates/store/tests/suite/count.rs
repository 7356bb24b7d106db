//! Keys are counted one by one while they are few, whatever has been written and removed before.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::*;
use dunlin_entry::Entry;
use dunlin_store::{Counted, Store, StoreOptions};

fn all(keys: u64) -> Counted {
    Counted { keys, is_all: true }
}

/// Of the two keyspaces that there are.
fn count(store: &Store) -> Counted {
    store.count_keys(&[KEYSPACE + 1, KEYSPACE]).unwrap()
}

fn apply(store: &Store, entries: &[Entry]) {
    let next = store.applied() + 1;
    store.apply(entries, next).unwrap();
}

#[test]
fn what_was_overwritten_deleted_or_dropped_is_no_key() {
    let dir = tempfile::tempdir().unwrap();
    let clock = TestClock::default();
    let store = Store::open(dir.path(), &options(&clock, None)).unwrap();
    assert_eq!(count(&store), all(0));
    for version in 0..20_000 {
        let key = format!("{}", version % 8);
        apply(&store, &[put(&key, "value", stamp(version, 1))]);
    }
    // All versions are in the memtable: the estimate takes each for a key.
    assert!(store.stats().unwrap().keys_estimate > 10_000);
    assert_eq!(count(&store), all(8));
    apply(&store, &[delete("0", stamp(30_000, 1))]);
    let other = Entry {
        keyspace: KEYSPACE + 1,
        expiry_ms: Some(1_000),
        ..put("a", "value", stamp(30_001, 1))
    };
    apply(&store, &[other]);
    assert_eq!(count(&store), all(8));
    clock.set(1_000);
    assert_eq!(count(&store), all(7));
    flush(&store);
    assert_eq!(count(&store), all(7));
    // What is dropped and kept for a while is left out by who knows of it.
    assert_eq!(store.count_keys(&[KEYSPACE + 1]).unwrap(), all(0));
    assert_eq!(store.count_keys(&[]).unwrap(), all(0));
    store.drop_keyspace(KEYSPACE).unwrap();
    assert_eq!(count(&store), all(0));
}

#[test]
fn more_than_a_few_are_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let entries: Vec<Entry> = (0..10_001)
        .map(|number| put(&format!("{number:05}"), "", stamp(number, 1)))
        .collect();
    apply(&store, &entries[..10_000]);
    assert_eq!(count(&store), all(10_000));
    apply(&store, &entries[10_000..]);
    let some = Counted {
        keys: 10_000,
        is_all: false,
    };
    assert_eq!(count(&store), some);
    let large = "v".repeat(5 << 20);
    apply(&store, &[put("", &large, stamp(20_000, 1))]);
    let one = Counted {
        keys: 1,
        is_all: false,
    };
    assert_eq!(count(&store), one);
}

#[test]
fn many_that_were_removed_are_not_passed_over_one_by_one() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut entries: Vec<Entry> = (0..20_000)
        .map(|number| Entry {
            from: 1,
            ..put(&format!("{number:05}"), "", stamp(number, 1))
        })
        .collect();
    entries.push(put("last", "", stamp(30_000, 1)));
    apply(&store, &entries);
    let mut next = Some(Vec::new());
    while let Some(start) = next.take() {
        next = store.thin_partition(KEYSPACE, 0, 1, &start).unwrap().next;
    }
    assert!(!count(&store).is_all);
    flush(&store);
    store.compact().unwrap();
    assert_eq!(count(&store), all(1));
}

#[test]
fn a_count_ends_when_its_time_is_over() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let entries: Vec<Entry> = (0..100)
        .map(|number| put(&format!("{number:05}"), "", stamp(number, 1)))
        .collect();
    apply(&store, &entries);
    store.close().unwrap();
    // Each look at the clock finds it so many milliseconds later.
    let open = |step_ms: i64| {
        let ms = AtomicU64::new(1_000_000);
        let clock = move || ms.fetch_add(step_ms as u64, Ordering::SeqCst);
        let options = StoreOptions::new(shared(), Arc::new(clock));
        Store::open(dir.path(), &options).unwrap()
    };
    let store = open(1);
    let some = count(&store);
    assert!(!some.is_all && some.keys > 40 && some.keys < 50, "{some:?}");
    // Keyspaces without any are looked for no longer, either.
    let absent: Vec<u32> = (100..200).collect();
    assert!(!store.count_keys(&absent).unwrap().is_all);
    store.close().unwrap();
    let store = open(0);
    assert_eq!(count(&store), all(100));
    store.close().unwrap();
    let set_back = open(-1);
    assert!(!count(&set_back).is_all);
}
