//! Forgetting deletes: after their grace, not before, and never what they hide.

use crate::common::*;
use dunlin_entry::{Entry, Stamp, Version};
use dunlin_store::{Outcome, Store};

const GRACE_MS: u64 = 1000;

fn at(ms: u64) -> Stamp {
    stamp(Version::new(ms, 0).0, 1)
}

#[test]
fn a_tombstone_goes_after_its_grace_and_the_older_value_stays_gone() {
    let dir = tempfile::tempdir().unwrap();
    let clock = TestClock::default();
    let store = Store::open(dir.path(), &options(&clock, Some(GRACE_MS))).unwrap();
    clock.set(10_000);
    store.apply(&[put("k", "v", at(9_000))], 1).unwrap();
    flush(&store);
    // The value lies at the bottom when the tombstone comes in above it.
    store.compact().unwrap();
    store.apply(&[delete("k", at(10_000))], 2).unwrap();
    flush(&store);
    clock.set(10_000 + GRACE_MS);
    store.compact().unwrap();
    assert!(get(&store, "k").unwrap().tombstone);
    assert_eq!(store.digest(KEYSPACE, 0).unwrap().records, 1);

    clock.set(10_001 + GRACE_MS);
    // Due is as good as gone to a digest, compacted or not.
    assert_eq!(store.digest(KEYSPACE, 0).unwrap().records, 0);
    assert!(get(&store, "k").unwrap().tombstone);
    store.compact().unwrap();
    assert_eq!(get(&store, "k"), None);
    assert_eq!(store.digest(KEYSPACE, 0).unwrap().records, 0);
    assert_eq!(store.verify().unwrap(), 0);
}

#[test]
fn an_expired_value_stays_until_a_delete_ends_it_and_that_goes_after_its_grace() {
    let dir = tempfile::tempdir().unwrap();
    let clock = TestClock::default();
    let store = Store::open(dir.path(), &options(&clock, Some(GRACE_MS))).unwrap();
    let entry = expiring("k", "v", at(10_000), 20_000);
    clock.set(10_000);
    store
        .apply(&[entry.clone(), put("lasting", "v", at(10_000))], 1)
        .unwrap();
    flush(&store);
    clock.set(20_001 + GRACE_MS);
    store.compact().unwrap();
    let held = get(&store, "k").unwrap();
    assert!(held.visible(19_999).is_some() && held.visible(20_000).is_none());
    // It stands against older entries.
    let outcome = store.apply(&[put("k", "old", at(9_999))], 2).unwrap();
    assert_eq!(
        outcome,
        [Outcome::Lost {
            newer: at(10_000).into()
        }]
    );

    store.apply(&[end_of(&entry)], 3).unwrap();
    clock.set(20_000 + GRACE_MS);
    flush(&store);
    store.compact().unwrap();
    assert!(get(&store, "k").unwrap().is_expiry);
    clock.set(20_001 + GRACE_MS);
    store.compact().unwrap();
    assert_eq!(get(&store, "k"), None);
    assert!(get(&store, "lasting").is_some());
}

#[test]
fn without_a_grace_period_nothing_is_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let clock = TestClock::default();
    let store = Store::open(dir.path(), &options(&clock, None)).unwrap();
    store.apply(&[delete("k", at(1))], 1).unwrap();
    flush(&store);
    clock.set(u64::MAX);
    store.compact().unwrap();
    assert!(get(&store, "k").unwrap().tombstone);
}

/// A tombstone that is compacted above an older value, without the value taking part, must go
/// on hiding it.
#[test]
fn a_purged_tombstone_does_not_bring_back_what_lies_below() {
    let dir = tempfile::tempdir().unwrap();
    let clock = TestClock::default();
    let store = Store::open(dir.path(), &options(&clock, Some(GRACE_MS))).unwrap();
    let filler = "x".repeat(2000);
    let mut index = 0;
    let mut load = |entries: Vec<Entry>| {
        index += 1;
        store.apply(&entries, index).unwrap();
        flush(&store);
    };
    let keys: Vec<String> = (0..200).map(|n| format!("k{n:03}")).collect();
    load(
        keys.iter()
            .map(|key| put(key, &filler, at(1_000)))
            .collect(),
    );
    store.compact().unwrap();
    clock.set(100_000);
    // Level 0 compacts on its own from four files on, with the tombstones due already.
    for round in 0..6 {
        load(
            keys.iter()
                .map(|key| delete(key, at(2_000 + round)))
                .collect(),
        );
        for key in &keys {
            assert!(get(&store, key).is_none_or(|held| held.tombstone));
        }
    }
    store.compact().unwrap();
    for key in &keys {
        assert_eq!(get(&store, key), None);
    }
}
