//! Replicas that have seen the same entries hold the same data, whatever the order of arrival,
//! the grouping, and the crashes between.

use std::collections::BTreeMap;

use crate::common::*;
use dunlin_entry::{Entry, Kind, Rank, Replaces, Stamp};
use dunlin_store::{Lookup, Outcome, Store, StoreError, Tier};
use proptest::prelude::*;

const PARTITIONS: u16 = 3;
const KEYS: u8 = 4;

/// Entries with stamps of their own, crowded onto few keys. Some replace a stamp, which may be that
/// of another, smaller or greater than their own.
fn entries() -> impl Strategy<Value = Vec<Entry>> {
    let one = (
        0..PARTITIONS,
        0..KEYS,
        prop_oneof![3 => Just(Kind::Put), 1 => Just(Kind::Delete)],
        any::<Option<u32>>(),
        prop::option::weighted(0.3, (1u64..40, 1u64..5, any::<bool>())),
    );
    prop::collection::btree_map((1u64..40, 1u64..5), one, 1..60).prop_map(|map| {
        map.into_iter()
            .map(
                |((version, origin), (partition, key, kind, expiry, replaced))| {
                    let stamp = stamp(version << 20, origin);
                    let value = match kind {
                        Kind::Delete => String::new(),
                        _ => format!("value of {stamp}"),
                    };
                    Entry {
                        kind,
                        partition,
                        expiry_ms: expiry.map(u64::from),
                        replaces: replaced.map(|(version, origin, is_mend)| Replaces {
                            stamp: self::stamp(version << 20, origin),
                            is_mend,
                        }),
                        ..put(&format!("key {key}"), &value, stamp)
                    }
                },
            )
            .collect()
    })
}

/// What happens to a store between two batches.
#[derive(Clone, Copy, Debug)]
enum Event {
    Nothing,
    Flush,
    BeginFlush,
    Crash,
    Close,
    Compact,
}

/// One store's way through the entries: their order (repeats included) and its batches.
#[derive(Clone, Debug)]
struct Path {
    order: Vec<prop::sample::Index>,
    seed: Vec<u64>,
    batches: Vec<(usize, Event)>,
}

fn paths() -> impl Strategy<Value = Path> {
    let event = prop_oneof![
        6 => Just(Event::Nothing),
        2 => Just(Event::Flush),
        2 => Just(Event::BeginFlush),
        2 => Just(Event::Crash),
        1 => Just(Event::Close),
        1 => Just(Event::Compact),
    ];
    (
        prop::collection::vec(any::<prop::sample::Index>(), 0..10),
        prop::collection::vec(any::<u64>(), 60),
        prop::collection::vec((1usize..16, event), 1..24),
    )
        .prop_map(|(order, seed, batches)| Path {
            order,
            seed,
            batches,
        })
}

/// All entries in this path's order, some twice: this store's log.
fn log_of(path: &Path, entries: &[Entry]) -> Vec<Entry> {
    let mut at: Vec<usize> = (0..entries.len()).collect();
    at.sort_by_key(|at| path.seed[*at]);
    at.extend(path.order.iter().map(|again| again.index(entries.len())));
    at.into_iter().map(|at| entries[at].clone()).collect()
}

fn walk(dir: &std::path::Path, path: &Path, log: &[Entry]) -> Store {
    let mut store = open(dir);
    let mut batches = path.batches.iter().cycle();
    let mut crashes = 0;
    loop {
        let done = store.applied() as usize;
        assert!(store.flushed_applied() as usize <= done);
        if done == log.len() {
            return store;
        }
        let (size, event) = batches.next().unwrap();
        let end = (done + size).min(log.len());
        let outcomes = loop {
            match store.apply(&log[done..end], end as u64) {
                // As for a flush that is begun, below.
                Err(StoreError::Stalled) => {
                    store.flush_wait().unwrap();
                }
                applied => break applied.unwrap(),
            }
        };
        check_outcomes(&store, &log[done..end], &outcomes);
        match event {
            Event::Nothing => {}
            Event::Flush => flush(&store),
            Event::BeginFlush => {
                // On a busy machine the flushes begun before may still wait.
                if let Err(error) = store.flush_begin() {
                    assert_eq!(error, StoreError::Stalled);
                    store.flush_wait().unwrap();
                }
            }
            Event::Compact => store.compact().unwrap(),
            Event::Crash if crashes < 4 => {
                crashes += 1;
                let flushed = store.flushed_applied();
                drop(store);
                store = open(dir);
                assert!(store.applied() >= flushed);
            }
            Event::Crash => {}
            Event::Close => {
                let applied = store.applied();
                store.close().unwrap();
                store = open(dir);
                assert_eq!(store.applied(), applied);
            }
        }
    }
}

/// A loss names something greater that really is held; a win means nothing smaller is held.
fn check_outcomes(store: &Store, batch: &[Entry], outcomes: &[Outcome]) {
    for (entry, outcome) in batch.iter().zip(outcomes) {
        let found = store
            .get(entry.keyspace, entry.partition, &entry.key, Tier::Disk)
            .unwrap();
        let Lookup::Value(held) = found else {
            panic!("{found:?} after {outcome:?}")
        };
        match outcome {
            Outcome::Won => assert!(held.rank() >= entry.rank()),
            Outcome::Lost { newer } => {
                assert!(*newer > entry.rank() && held.rank() >= *newer);
            }
            Outcome::Twin => panic!("two entries with the stamp {}", entry.stamp),
        }
    }
}

fn winners(entries: &[Entry]) -> BTreeMap<(u16, Vec<u8>), Entry> {
    let mut winners: BTreeMap<_, Entry> = BTreeMap::new();
    for entry in entries {
        let place = (entry.partition, entry.key.to_vec());
        let newest = winners
            .get(&place)
            .map_or(Rank::from(Stamp::default()), Entry::rank);
        if entry.rank() > newest {
            winners.insert(place, entry.clone());
        }
    }
    winners
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn stores_agree(entries in entries(), paths in prop::collection::vec(paths(), 3)) {
        let winners = winners(&entries);
        let mut digests = Vec::new();
        for path in &paths {
            let dir = tempfile::tempdir().unwrap();
            let store = walk(dir.path(), path, &log_of(path, &entries));
            let mut held = 0;
            for ((partition, key), winner) in &winners {
                let found = store.get(KEYSPACE, *partition, key, Tier::Disk).unwrap();
                let Lookup::Value(versioned) = found else { panic!("{found:?}") };
                prop_assert_eq!(versioned.stamp, winner.stamp);
                prop_assert_eq!(versioned.tombstone, winner.kind == Kind::Delete);
                prop_assert_eq!(&versioned.value, &winner.value);
                held += 1;
            }
            let digest: Vec<_> = (0..PARTITIONS)
                .map(|partition| store.digest(KEYSPACE, partition).unwrap())
                .collect();
            prop_assert_eq!(digest.iter().map(|digest| digest.records).sum::<u64>(), held);
            digests.push(digest);
        }
        prop_assert!(digests.windows(2).all(|pair| pair[0] == pair[1]));
    }
}

#[test]
fn digests_tell_every_kind_of_difference() {
    let variants = [
        vec![],
        vec![put("k", "v", stamp(1, 1))],
        vec![put("k", "w", stamp(1, 1))],
        vec![put("kv", "", stamp(1, 1))],
        vec![put("k", "v", stamp(2, 1))],
        vec![put("k", "v", stamp(1, 2))],
        vec![delete("k", stamp(1, 1))],
        vec![Entry {
            expiry_ms: Some(1),
            ..put("k", "v", stamp(1, 1))
        }],
        vec![put("k", "v", stamp(1, 1)), put("l", "v", stamp(1, 1))],
    ];
    let mut seen = Vec::new();
    for entries in variants {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        store.apply(&entries, 1).unwrap();
        let digest = store.digest(KEYSPACE, 0).unwrap();
        assert!(!seen.contains(&digest), "{entries:?}");
        seen.push(digest);
    }
}
