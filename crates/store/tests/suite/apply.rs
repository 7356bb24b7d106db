//! Applying entries: who wins, what is answered, what is read.

use crate::common::*;
use bytes::Bytes;
use dunlin_entry::{Entry, Vector};
use dunlin_store::{Lookup, Outcome, Store, StoreError, Tier};

fn value(store: &Store, key: &str) -> Bytes {
    get(store, key).unwrap().value
}

#[test]
fn newer_wins_older_loses_and_says_to_what() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let held = stamp(10, 2);
    assert_eq!(
        store.apply(&[put("k", "held", held)], 1).unwrap(),
        [Outcome::Won]
    );
    for older in [stamp(9, 9), stamp(10, 1)] {
        assert_eq!(
            store.apply(&[put("k", "older", older)], 2).unwrap(),
            [Outcome::Lost { newer: held.into() }]
        );
    }
    assert_eq!(value(&store, "k"), "held");
    // The same entry again does no harm and is no loss.
    assert_eq!(
        store.apply(&[put("k", "held", held)], 3).unwrap(),
        [Outcome::Won]
    );
    assert_eq!(
        store.apply(&[put("k", "tie", stamp(10, 3))], 4).unwrap(),
        [Outcome::Won]
    );
    assert_eq!(value(&store, "k"), "tie");
    assert_eq!(store.applied(), 4);
}

#[test]
fn a_delete_is_remembered_against_older_puts() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.apply(&[delete("k", stamp(10, 1))], 1).unwrap();
    let outcome = store.apply(&[put("k", "late", stamp(9, 1))], 2).unwrap();
    assert_eq!(
        outcome,
        [Outcome::Lost {
            newer: stamp(10, 1).into()
        }]
    );
    let held = get(&store, "k").unwrap();
    assert!(held.tombstone && held.visible(0).is_none());
}

#[test]
fn entries_of_one_batch_are_judged_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let outcomes = store
        .apply(
            &[
                put("a", "5", stamp(5, 1)),
                put("b", "9", stamp(9, 1)),
                put("a", "3", stamp(3, 1)),
                put("a", "7", stamp(7, 1)),
                put("a", "6", stamp(6, 1)),
                put("a", "7", stamp(7, 1)),
                delete("b", stamp(8, 1)),
            ],
            7,
        )
        .unwrap();
    let lost = |version| Outcome::Lost {
        newer: stamp(version, 1).into(),
    };
    use Outcome::Won;
    assert_eq!(outcomes, [Won, Won, lost(5), Won, lost(7), Won, lost(9)]);
    assert_eq!(value(&store, "a"), "7");
    assert_eq!(value(&store, "b"), "9");
}

#[test]
fn keyspaces_and_partitions_do_not_see_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let here = put("k", "here", stamp(5, 1));
    let there = Entry {
        partition: 1,
        ..put("k", "there", stamp(4, 1))
    };
    let beyond = Entry {
        keyspace: KEYSPACE + 1,
        ..put("k", "beyond", stamp(3, 1))
    };
    let outcomes = store.apply(&[here, there, beyond], 3).unwrap();
    assert_eq!(outcomes, [Outcome::Won; 3]);
    for (keyspace, partition, expected) in [
        (KEYSPACE, 0, "here"),
        (KEYSPACE, 1, "there"),
        (KEYSPACE + 1, 0, "beyond"),
    ] {
        match store.get(keyspace, partition, b"k", Tier::Disk).unwrap() {
            Lookup::Value(versioned) => assert_eq!(versioned.value, expected),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn vectors_store_nothing_and_the_position_never_goes_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let vector = Entry::of_vector(&Vector::new());
    assert_eq!(store.apply(&[vector], 9).unwrap(), [Outcome::Won]);
    assert_eq!(store.apply(&[], 4).unwrap(), []);
    assert_eq!(store.applied(), 9);
    assert_eq!(store.stats().unwrap().keys_estimate, 0);
}

#[test]
fn the_reserved_keyspace_is_refused_and_nothing_of_its_batch_is_applied() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let reserved = Entry {
        keyspace: u32::MAX,
        ..put("k", "v", stamp(1, 1))
    };
    assert_eq!(
        store.apply(&[put("k", "v", stamp(1, 1)), reserved], 2),
        Err(StoreError::ReservedKeyspace)
    );
    assert_eq!(store.applied(), 0);
    assert_eq!(get(&store, "k"), None);
    // The stripe was raised by the batch that failed; its second coming must still win.
    let outcome = store.apply(&[put("k", "v", stamp(1, 1))], 1).unwrap();
    assert_eq!(outcome, [Outcome::Won]);
    assert_eq!(value(&store, "k"), "v");
}

#[test]
fn memory_reads_never_go_to_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.apply(&[put("k", "v", stamp(1, 1))], 1).unwrap();
    let read = |store: &Store, tier| store.get(KEYSPACE, 0, b"k", tier).unwrap();
    assert!(matches!(read(&store, Tier::CacheOnly), Lookup::Value(_)));
    store.close().unwrap();
    let store = open(dir.path());
    assert_eq!(read(&store, Tier::CacheOnly), Lookup::NeedsDisk);
    assert!(matches!(read(&store, Tier::Disk), Lookup::Value(_)));
    assert!(matches!(read(&store, Tier::CacheOnly), Lookup::Value(_)));
}

#[test]
fn equal_stamps_with_different_bytes_are_told_and_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let first = put("k", "one", stamp(10, 2));
    store.apply(std::slice::from_ref(&first), 1).unwrap();
    let other = put("k", "another", stamp(10, 2));
    let removed = Entry {
        kind: dunlin_entry::Kind::Delete,
        value: Bytes::new(),
        ..first.clone()
    };
    let expiring = Entry {
        expiry_ms: Some(99),
        ..first.clone()
    };
    for twin in [other.clone(), removed, expiring] {
        assert_eq!(store.apply(&[twin], 2).unwrap(), [Outcome::Twin]);
        assert_eq!(value(&store, "k"), "one");
    }
    // How many replicas hold it is no difference.
    let moved = Entry { from: 9, ..first };
    assert_eq!(store.apply(&[moved], 3).unwrap(), [Outcome::Won]);
    // Within one batch, too.
    let stamp = stamp(11, 2);
    let (one, two) = (put("k", "one", stamp), put("k", "two", stamp));
    let outcomes = store.apply(&[one.clone(), two, one], 4).unwrap();
    assert_eq!(outcomes, [Outcome::Won, Outcome::Twin, Outcome::Won]);
}
