//! Dropping keyspaces and partitions.

use std::ops::Bound;

use crate::common::*;
use bytes::Bytes;
use dunlin_entry::Entry;
use dunlin_store::{Store, StoreError};

/// Partitions 0 and 1 of three keyspaces, the empty key (the first of its partition) among them.
fn build(dir: &std::path::Path, flushed: bool) -> Store {
    let store = open(dir);
    for keyspace in KEYSPACE - 1..=KEYSPACE + 1 {
        for partition in 0..2 {
            for key in ["", "a", "\u{10ffff}"] {
                let entry = Entry {
                    keyspace,
                    partition,
                    key: Bytes::copy_from_slice(key.as_bytes()),
                    ..put("", "v", stamp(5, 1))
                };
                store.apply(&[entry], store.applied() + 1).unwrap();
                if flushed {
                    flush(&store);
                }
            }
        }
    }
    if flushed {
        // Below level 0, where whole files can go.
        store.compact().unwrap();
    }
    store
}

fn counts(store: &Store) -> Vec<usize> {
    (KEYSPACE - 1..=KEYSPACE + 1)
        .flat_map(|keyspace| (0..2).map(move |partition| (keyspace, partition)))
        .map(|(keyspace, partition)| {
            store
                .scan_page(
                    keyspace,
                    partition,
                    Bound::Unbounded,
                    Bound::Unbounded,
                    99,
                    9999,
                    None,
                )
                .unwrap()
                .items
                .len()
        })
        .collect()
}

#[test]
fn a_partition_goes_and_its_neighbours_stay() {
    for flushed in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let store = build(dir.path(), flushed);
        store.drop_partition(KEYSPACE, 0).unwrap();
        assert_eq!(counts(&store), [3, 3, 0, 3, 3, 3]);
        store.close().unwrap();
        assert_eq!(counts(&open(dir.path())), [3, 3, 0, 3, 3, 3]);
    }
}

#[test]
fn a_keyspace_goes_and_its_neighbours_stay() {
    for flushed in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let store = build(dir.path(), flushed);
        store.drop_keyspace(KEYSPACE).unwrap();
        assert_eq!(counts(&store), [3, 3, 0, 0, 3, 3]);
        store.close().unwrap();
        let store = open(dir.path());
        assert_eq!(counts(&store), [3, 3, 0, 0, 3, 3]);
        // What is dropped is forgotten: an older entry may come again.
        store.apply(&[put("a", "again", stamp(1, 1))], 99).unwrap();
        assert_eq!(get(&store, "a").unwrap().value, "again");
    }
}

#[test]
fn the_reserved_keyspace_cannot_be_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    assert_eq!(
        store.drop_keyspace(u32::MAX),
        Err(StoreError::ReservedKeyspace)
    );
}

/// RocksDB drops whole files up to an end it takes inclusively, and the end of one partition is
/// the empty key of the next.
#[test]
fn a_shared_file_is_not_dropped_for_its_first_half() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let neighbour = Entry {
        partition: 1,
        ..put("", "neighbour", stamp(1, 1))
    };
    store
        .apply(&[put("a", "v", stamp(1, 1)), neighbour], 2)
        .unwrap();
    flush(&store);
    store.compact().unwrap();
    store.drop_partition(KEYSPACE, 0).unwrap();
    assert_eq!(counts(&store), [0, 0, 0, 1, 0, 0]);
}

#[test]
fn a_dropped_keyspace_gives_back_what_it_took_in_files_shared_with_others() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    let value = |number: u64| {
        let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let words = std::iter::repeat_with(move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        });
        words.take(128).flatten().collect::<Vec<u8>>()
    };
    // Several files, every one with records of both, some of them below level 0.
    for round in 0..4u64 {
        for number in 0..500u64 {
            let number = round * 500 + number;
            let entries = [KEYSPACE, KEYSPACE + 1].map(|keyspace| Entry {
                keyspace,
                partition: (number % 8) as u16,
                value: Bytes::from(value(number ^ u64::from(keyspace) << 32)),
                ..put(&format!("{number:05}"), "", stamp(5 + number, 1))
            });
            store.apply(&entries, store.applied() + 1).unwrap();
        }
        flush(&store);
        if round == 1 {
            store.compact().unwrap();
        }
    }
    let before = store.stats().unwrap().sst_bytes;
    assert_eq!(store.keyspaces().unwrap(), [KEYSPACE, KEYSPACE + 1]);
    assert!(store.keyspace_bytes(KEYSPACE + 1).unwrap() > before / 3);
    store.drop_keyspace(KEYSPACE + 1).unwrap();
    assert_eq!(store.keyspaces().unwrap(), [KEYSPACE]);
    flush(&store);
    let dropped = store.stats().unwrap().sst_bytes;
    assert!(
        dropped > before * 3 / 4,
        "{dropped} of {before}: its files are shared"
    );
    store.compact_keyspace(KEYSPACE + 1).unwrap();
    let after = store.stats().unwrap().sst_bytes;
    assert!(after < before * 11 / 20, "{after} of {before} stay");
    assert!(
        after > before * 9 / 20,
        "{after} of {before}: what is kept is there"
    );
    assert!(store.keyspace_bytes(KEYSPACE + 1).unwrap() < 64 << 10);
    let path = home.path().to_owned();
    drop(store);
    let store = open(&path);
    assert_eq!(store.keyspaces().unwrap(), [KEYSPACE]);
    for number in 0..2_000u64 {
        let key = format!("{number:05}");
        let found = store.get(
            KEYSPACE,
            (number % 8) as u16,
            key.as_bytes(),
            dunlin_store::Tier::Disk,
        );
        assert!(matches!(found, Ok(dunlin_store::Lookup::Value(_))), "{key}");
    }
}
