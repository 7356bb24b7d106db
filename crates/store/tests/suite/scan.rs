//! Pages of one partition and of all of them, against a sorted map.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::common::*;
use bytes::Bytes;
use dunlin_entry::Entry;
use dunlin_store::{Merge, Page, Snapshot, Store};
use proptest::prelude::*;

type Key = Vec<u8>;
type Bounds = (Bound<Key>, Bound<Key>);

fn keys() -> impl Strategy<Value = Key> {
    prop::collection::vec(
        prop_oneof![Just(0u8), Just(b'a'), Just(b'b'), Just(0xff)],
        0..4,
    )
}

fn bounds() -> impl Strategy<Value = Bounds> {
    let bound = || {
        prop_oneof![
            Just(Bound::Unbounded),
            keys().prop_map(Bound::Included),
            keys().prop_map(Bound::Excluded),
        ]
    };
    (bound(), bound())
}

fn as_slices(bounds: &Bounds) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (
        bounds.0.as_ref().map(Vec::as_slice),
        bounds.1.as_ref().map(Vec::as_slice),
    )
}

fn contains(bounds: &Bounds, key: &[u8]) -> bool {
    let after = match &bounds.0 {
        Bound::Included(start) => key >= start.as_slice(),
        Bound::Excluded(start) => key > start.as_slice(),
        Bound::Unbounded => true,
    };
    after
        && match &bounds.1 {
            Bound::Included(end) => key <= end.as_slice(),
            Bound::Excluded(end) => key < end.as_slice(),
            Bound::Unbounded => true,
        }
}

fn entry(partition: u16, key: &[u8], version: u64) -> Entry {
    Entry {
        partition,
        key: Bytes::copy_from_slice(key),
        ..put("", &format!("{partition} {version}"), stamp(version, 1))
    }
}

/// All pages of one partition.
fn scan(
    store: &Store,
    partition: u16,
    bounds: &Bounds,
    items: usize,
    bytes: usize,
    snapshot: Option<&Snapshot>,
) -> Vec<(Key, Bytes)> {
    let (mut start, end) = as_slices(bounds);
    let mut out = Vec::new();
    let mut next;
    loop {
        let page = store
            .scan_page(KEYSPACE, partition, start, end, items, bytes, snapshot)
            .unwrap();
        check_limits(&page, items, bytes);
        out.extend(flatten(page.items));
        match page.next {
            Some(key) => next = key,
            None => return out,
        }
        start = Bound::Included(&next);
    }
}

/// The same pages of the latest state, records shown where they are.
fn scan_records(store: &Store, partition: u16, items: usize, bytes: usize) -> Vec<(Key, Bytes)> {
    let mut out = Vec::new();
    let mut start = Vec::new();
    loop {
        let take = |key: &[u8], record: dunlin_store::Record<'_>| {
            out.push((key.to_vec(), Bytes::copy_from_slice(record.value)));
        };
        let next = store.scan_records(KEYSPACE, partition, &start, items, bytes, take);
        match next.unwrap() {
            Some(key) => start = key.to_vec(),
            None => return out,
        }
    }
}

fn drain(merge: &mut Merge, items: usize, bytes: usize) -> Vec<(Key, Bytes)> {
    let mut out = Vec::new();
    loop {
        let page = merge.page(items, bytes).unwrap();
        check_limits(&page, items, bytes);
        let end = page.next.is_none();
        out.extend(flatten(page.items));
        if end {
            assert_eq!(merge.page(items, bytes).unwrap(), Page::default());
            return out;
        }
    }
}

fn flatten(items: Vec<(Bytes, dunlin_store::Versioned)>) -> impl Iterator<Item = (Key, Bytes)> {
    items
        .into_iter()
        .map(|(key, held)| (key.to_vec(), held.value))
}

fn check_limits(page: &Page, items: usize, bytes: usize) {
    let size: usize = page
        .items
        .iter()
        .map(|(key, held)| key.len() + held.value.len())
        .sum();
    assert!(page.items.len() <= items.max(1));
    assert!(size <= bytes || page.items.len() == 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn pages_agree_with_a_sorted_map(
        first in prop::collection::vec((0u16..4, keys()), 0..40),
        second in prop::collection::vec((0u16..4, keys()), 0..20),
        bounds in bounds(),
        items in 0usize..6,
        bytes in 0usize..60,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        let mut model: BTreeMap<(Key, u16), Bytes> = BTreeMap::new();
        let mut version = 0;
        let mut load = |store: &Store, list: &[(u16, Key)], model: &mut BTreeMap<(Key, u16), Bytes>| {
            for (partition, key) in list {
                version += 1;
                let entry = entry(*partition, key, version);
                model.insert((key.clone(), *partition), entry.value.clone());
                store.apply(&[entry], version).unwrap();
            }
        };
        // Neighbours on both sides that no scan may show.
        for keyspace in [KEYSPACE - 1, KEYSPACE + 1] {
            let stranger = Entry { keyspace, ..entry(0, b"a", 1) };
            store.apply(&[stranger], 0).unwrap();
        }
        load(&store, &first, &mut model);
        flush(&store);
        load(&store, &second[..second.len() / 2], &mut model);
        let snapshot = store.snapshot();
        let mut merge = store.merge(KEYSPACE, None, as_slices(&bounds).0, as_slices(&bounds).1).unwrap();
        let mut some = store.merge(KEYSPACE, Some(&[1, 3]), as_slices(&bounds).0, as_slices(&bounds).1).unwrap();
        prop_assert_eq!(snapshot.applied(), store.applied());
        prop_assert_eq!(merge.applied(), store.applied());
        let frozen = model.clone();
        load(&store, &second[second.len() / 2..], &mut model);

        let expect = |model: &BTreeMap<(Key, u16), Bytes>, wanted: &dyn Fn(u16) -> bool| -> Vec<(Key, Bytes)> {
            model
                .iter()
                .filter(|((key, partition), _)| wanted(*partition) && contains(&bounds, key))
                .map(|((key, _), value)| (key.clone(), value.clone()))
                .collect()
        };
        for partition in 0..4 {
            let wanted = |p| p == partition;
            prop_assert_eq!(
                scan(&store, partition, &bounds, items, bytes, Some(&snapshot)),
                expect(&frozen, &wanted)
            );
            prop_assert_eq!(
                scan(&store, partition, &bounds, items, bytes, None),
                expect(&model, &wanted)
            );
            let all = (Bound::Unbounded, Bound::Unbounded);
            prop_assert_eq!(
                scan_records(&store, partition, items, bytes),
                scan(&store, partition, &all, items, bytes, None)
            );
        }
        // The store may be closed while a walk goes on.
        drop(store);
        drop(snapshot);
        prop_assert_eq!(drain(&mut merge, items, bytes), expect(&frozen, &|_| true));
        prop_assert_eq!(drain(&mut some, items, bytes), expect(&frozen, &|p| p % 2 == 1));
    }
}

#[test]
fn a_page_holds_tombstones_and_expired_values() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let expired = Entry {
        expiry_ms: Some(1),
        ..put("b", "old", stamp(1, 1))
    };
    store
        .apply(&[delete("a", stamp(1, 1)), expired], 2)
        .unwrap();
    let page = store
        .scan_page(
            KEYSPACE,
            0,
            Bound::Unbounded,
            Bound::Unbounded,
            10,
            1000,
            None,
        )
        .unwrap();
    assert!(page.items[0].1.tombstone);
    assert_eq!(page.items[1].1.expiry_ms, Some(1));
    assert_eq!(page.next, None);
}

#[test]
fn the_last_partition_of_a_keyspace_ends_at_the_next_keyspace() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let last = entry(u16::MAX, b"last", 1);
    let next = Entry {
        keyspace: KEYSPACE + 1,
        ..entry(0, b"", 1)
    };
    store.apply(&[last, next], 2).unwrap();
    let unbounded = (Bound::Unbounded, Bound::Unbounded);
    assert_eq!(scan(&store, u16::MAX, &unbounded, 9, 99, None).len(), 1);
    let mut merge = store
        .merge(
            KEYSPACE,
            None,
            unbounded.0.as_ref().map(Vec::as_slice),
            Bound::Unbounded,
        )
        .unwrap();
    assert_eq!(drain(&mut merge, 9, 99).len(), 1);
}

#[test]
fn walks_can_change_threads() {
    fn sendable<T: Send + Sync>() {}
    sendable::<Store>();
    sendable::<Snapshot>();
    sendable::<Merge>();
}

#[test]
fn large_values_wait_for_their_turn_on_the_disk_and_stay_until_a_delete_ends_them() {
    let dir = tempfile::tempdir().unwrap();
    let clock = TestClock::default();
    let store = Store::open(dir.path(), &options(&clock, Some(1_000))).unwrap();
    clock.set(10_000);
    let large = Bytes::from(vec![7; 100_000]);
    let value = |n: u32| match n % 3 {
        0 => large.clone(),
        _ => Bytes::from(n.to_string()),
    };
    let expires = |n: u32| n.is_multiple_of(10);
    let entries: Vec<Entry> = (0..120)
        .map(|n| Entry {
            partition: (n % 4) as u16,
            value: value(n),
            expiry_ms: expires(n).then_some(11_000),
            ..put(&format!("{n:03}"), "", stamp(u64::from(n) + 1, 1))
        })
        .collect();
    store.apply(&entries[..60], 1).unwrap();
    flush(&store);
    store.apply(&entries[60..], 2).unwrap();
    flush(&store);
    let whole: Vec<(Key, Bytes)> = (0..120)
        .map(|n| (format!("{n:03}").into_bytes(), value(n)))
        .collect();
    let walk = || {
        let all = (Bound::Unbounded, Bound::Unbounded);
        store.merge(KEYSPACE, None, all.0, all.1).unwrap()
    };
    assert_eq!(drain(&mut walk(), 7, 250_000), whole);
    assert_eq!(drain(&mut walk(), 1, 0), whole);

    let mut merge = walk();
    clock.set(20_000);
    store.compact().unwrap();
    let left = drain(&mut merge, 7, 250_000);
    // Their time is over, and no delete has ended them.
    assert_eq!(left, whole);
}
