//! A walk that is kept knows of every change to what it goes over, whichever way that comes.

use std::ops::Bound;

use crate::common::*;
use bytes::Bytes;
use dunlin_entry::{Entry, Version};
use dunlin_store::{Merge, Store};

const PARTITIONS: [u16; 2] = [0, 1];
const OTHER: u32 = KEYSPACE + 1;
const GRACE_MS: u64 = 1_000;

fn entry(partition: u16, key: &str, version: u64) -> Entry {
    Entry {
        partition,
        ..put(key, &format!("{partition} {version}"), stamp(version, 1))
    }
}

fn other(key: &str, version: u64) -> Entry {
    Entry {
        keyspace: OTHER,
        ..entry(0, key, version)
    }
}

fn begin(store: &Store) -> Merge {
    let all = Bound::Unbounded;
    store.merge(KEYSPACE, Some(&PARTITIONS), all, all).unwrap()
}

/// Keys and values that the walk still shows.
fn rest(mut walk: Merge) -> Vec<(Bytes, Bytes)> {
    let mut shown = Vec::new();
    loop {
        let page = walk.page(2, usize::MAX).unwrap();
        if page.items.is_empty() {
            return shown;
        }
        let items = page.items.into_iter();
        shown.extend(items.map(|(key, versioned)| (key, versioned.value)));
    }
}

/// A store of two keyspaces, partly in files and partly in memory.
fn filled(dir: &tempfile::TempDir) -> (Store, TestClock) {
    let clock = TestClock::default();
    let store = Store::open(dir.path(), &options(&clock, Some(GRACE_MS))).unwrap();
    let entries = [
        entry(0, "a", 5),
        entry(0, "c", 6),
        entry(1, "b", 7),
        other("a", 8),
    ];
    store.apply(&entries, 1).unwrap();
    flush(&store);
    let narrow = Entry {
        from: 1,
        ..entry(1, "d", 9)
    };
    store.apply(&[narrow, entry(1, "f", 10)], 2).unwrap();
    (store, clock)
}

fn drop_it(store: &Store, keyspace: u32) {
    store.drop_keyspace(keyspace).unwrap();
}

fn ingest(store: &Store, entry: Entry) {
    let ready = store.ingest_prepare(&[entry]).unwrap();
    assert!(store.ingest(&[ready]).unwrap());
}

fn forget(store: &Store, version: u64) -> u64 {
    let named = [("d".into(), stamp(version, 1))];
    store.forget(KEYSPACE, 1, &named).unwrap()
}

/// Tells whether the walk is current, and asserts that it is not unless it shows what a new one does.
fn stays_after(change: impl FnOnce(&Store, &TestClock)) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let (store, clock) = filled(&dir);
    let mut walk = begin(&store);
    assert!(walk.is_current() && walk.held_bytes() > 0);
    let first = walk.page(1, usize::MAX).unwrap();
    assert_eq!(first.items[0].0, "a");
    change(&store, &clock);
    let is_current = walk.is_current();
    if is_current {
        assert_eq!(rest(walk), rest(begin(&store))[1..]);
    }
    is_current
}

/// The same of a change that a new walk shows.
fn goes_with(change: impl FnOnce(&Store, &TestClock)) {
    assert!(!stays_after(|store, clock| {
        let before = rest(begin(store));
        change(store, clock);
        assert_ne!(rest(begin(store)), before, "nothing has changed");
    }));
}

#[test]
fn entries_that_are_applied_end_it() {
    goes_with(|store, _| {
        store.apply(&[entry(1, "e", 11)], 3).unwrap();
    });
    // Beside others, before and after.
    goes_with(|store, _| {
        let batch = [other("a", 11), entry(0, "e", 12), other("b", 13)];
        store.apply(&batch, 3).unwrap();
    });
    goes_with(|store, _| {
        store.apply(&[delete("c", stamp(11, 1))], 3).unwrap();
        flush(store);
    });
}

#[test]
fn a_file_that_is_taken_over_ends_it() {
    goes_with(|store, _| ingest(store, entry(0, "x", 11)));
}

#[test]
fn a_partition_that_is_dropped_ends_it() {
    goes_with(|store, _| store.drop_partition(KEYSPACE, 1).unwrap());
}

#[test]
fn its_keyspace_dropped_ends_it() {
    goes_with(|store, _| drop_it(store, KEYSPACE));
}

#[test]
fn a_record_that_is_forgotten_ends_it() {
    goes_with(|store, _| assert_eq!(forget(store, 9), 1));
}

#[test]
fn a_partition_that_is_thinned_ends_it() {
    goes_with(|store, _| {
        let thinned = store.thin_partition(KEYSPACE, 1, 1, b"").unwrap();
        assert_eq!(thinned.next, None);
    });
}

#[test]
fn what_changes_nothing_of_its_keyspace_does_not() {
    // Another keyspace, and entries that lose or are there already.
    assert!(stays_after(|store, _| {
        let batch = [other("c", 11), entry(0, "c", 4), entry(0, "c", 6)];
        store.apply(&batch, 3).unwrap();
    }));
    assert!(stays_after(|store, _| {
        let named = [("a".into(), stamp(8, 1))];
        assert_eq!(store.forget(OTHER, 0, &named).unwrap(), 1);
    }));
    // It has changed since, or is stored by enough.
    assert!(stays_after(|store, _| assert_eq!(forget(store, 8), 0)));
    assert!(stays_after(|store, _| {
        store.thin_partition(KEYSPACE, 0, 1, b"").unwrap();
    }));
    // Notes, and what is done to the files.
    assert!(stays_after(|store, _| store.note_swept(4).unwrap()));
    assert!(stays_after(|store, _| store.rewind(1).unwrap()));
    assert!(stays_after(|store, _| store.expect_versions(Version(50))));
    assert!(stays_after(|store, _| {
        flush(store);
        store.compact().unwrap();
    }));
}

#[test]
fn what_a_compaction_lets_go_was_dead_before() {
    let dir = tempfile::tempdir().unwrap();
    let (store, clock) = filled(&dir);
    let short = Entry {
        expiry_ms: Some(10),
        ..entry(0, "e", 11)
    };
    let over = end_of(&short);
    let dead = [short, over, delete("c", stamp(12, 1))];
    store.apply(&dead, 3).unwrap();
    let mut walk = begin(&store);
    clock.set(20 * GRACE_MS);
    flush(&store);
    store.compact().unwrap();
    assert!(walk.is_current());
    let kept = walk.page(10, usize::MAX).unwrap().items;
    let new = begin(&store).page(10, usize::MAX).unwrap().items;
    // The new one shows neither of the two any more; who reads the kept one sees them dead.
    assert_eq!(new.len() + 2, kept.len());
    let living = kept
        .into_iter()
        .filter(|(_, versioned)| versioned.visible(20 * GRACE_MS).is_some());
    assert_eq!(living.collect::<Vec<_>>(), new);
}
