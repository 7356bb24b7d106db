//! What has an expiry is found by its time, and ended by a delete that beats that value alone.

use crate::common::*;
use dunlin_store::{Expired, Outcome, Store};

/// All that is over at `until_ms`, by pages of `max`.
fn expired(store: &Store, until_ms: u64, max: usize) -> Vec<Expired> {
    let mut found = Vec::new();
    let mut start = Some(Store::expired_from(0));
    while let Some(from) = start {
        let page = store.expired_page(&from, until_ms, max).unwrap();
        found.extend(page.items);
        start = page.next;
    }
    found
}

fn keys(expired: &[Expired]) -> Vec<&[u8]> {
    expired.iter().map(|value| &value.key[..]).collect()
}

#[test]
fn what_is_over_is_found_by_its_time_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let entries = [
        expiring("late", "v", stamp(1, 1), 3_000),
        expiring("early", "v", stamp(2, 1), 1_000),
        expiring("next", "v", stamp(3, 1), 2_000),
        put("lasting", "v", stamp(4, 1)),
    ];
    store.apply(&entries, 1).unwrap();
    assert!(expired(&store, 999, 10).is_empty());
    for max in [1, 2, 10] {
        assert_eq!(keys(&expired(&store, 2_000, max)), [b"early", &b"next"[..]]);
    }
    // What stands there is what its record says.
    let found = expired(&store, 1_000, 10);
    assert_eq!((found[0].stamp, found[0].from), (stamp(2, 1), 3));
    assert_eq!((found[0].keyspace, found[0].partition), (KEYSPACE, 0));
    assert_eq!(found[0].expiry_ms, 1_000);
}

#[test]
fn what_was_renewed_or_deleted_or_ended_is_not_over() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let ended = expiring("ended", "v", stamp(1, 1), 1_000);
    let first = [
        expiring("renewed", "v", stamp(1, 1), 1_000),
        expiring("made lasting", "v", stamp(1, 1), 1_000),
        expiring("deleted", "v", stamp(1, 1), 1_000),
        ended.clone(),
    ];
    store.apply(&first, 1).unwrap();
    let then = [
        expiring("renewed", "v", stamp(2, 1), 5_000),
        put("made lasting", "v", stamp(2, 1)),
        delete("deleted", stamp(2, 1)),
        end_of(&ended),
    ];
    store.apply(&then, 2).unwrap();
    assert!(expired(&store, 4_999, 10).is_empty());
    assert_eq!(keys(&expired(&store, 5_000, 10)), [b"renewed"]);
}

#[test]
fn an_end_beats_exactly_the_value_it_ends_in_any_order() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let value = expiring("k", "v", stamp(5, 1), 1_000);
    let end = end_of(&value);
    assert_eq!(
        store.apply(&[value.clone(), end.clone()], 1).unwrap(),
        [Outcome::Won, Outcome::Won]
    );
    let held = get(&store, "k").unwrap();
    assert!(held.tombstone && held.is_expiry);
    assert_eq!((held.stamp, held.expiry_ms), (stamp(5, 1), Some(1_000)));
    // The value come again has lost, the end come again from elsewhere is the same.
    let lost = Outcome::Lost { newer: end.rank() };
    assert_eq!(
        store.apply(std::slice::from_ref(&value), 2).unwrap(),
        [lost]
    );
    assert_eq!(
        store.apply(std::slice::from_ref(&end), 3).unwrap(),
        [Outcome::Won]
    );
    // The least that is newer stands.
    let renewed = put("k", "w", stamp(5, 2));
    assert_eq!(
        store.apply(&[renewed.clone(), end], 4).unwrap(),
        [
            Outcome::Won,
            Outcome::Lost {
                newer: renewed.rank()
            }
        ]
    );
    assert_eq!(&get(&store, "k").unwrap().value[..], b"w");
}

#[test]
fn names_that_stand_for_nothing_are_struck_off() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let many: Vec<_> = (0..300)
        .map(|n| expiring(&format!("{n:03}"), "v", stamp(n + 1, 1), 1_000))
        .collect();
    store.apply(&many, 1).unwrap();
    let ends: Vec<_> = many.iter().map(end_of).collect();
    store.apply(&ends, 2).unwrap();
    // Two looks at one name each: the second finds another only where the first struck nothing off.
    let from = Store::expired_from(0);
    let first = store.expired_page(&from, 2_000, 299).unwrap();
    assert!(first.items.is_empty() && first.next.is_some());
    let second = store.expired_page(&from, 2_000, 1).unwrap();
    assert_eq!((second.items.len(), second.next), (0, None));
}

#[test]
fn what_is_renewed_over_and_over_leaves_names_that_can_be_struck_off() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let empty_bytes = store.stats().unwrap().sst_bytes;
    for round in 0..20_000 {
        let year = 1_000_000_000 + round;
        let renewed = expiring("lease", "v", stamp(round + 1, 1), year);
        store.apply(&[renewed], round + 1).unwrap();
    }
    flush(&store);
    assert!(store.expiry_names().unwrap() >= 20_000);
    assert!(
        store.stats().unwrap().sst_bytes > empty_bytes + 100_000,
        "they count"
    );
    let standing = expired(&store, u64::MAX, 256);
    assert_eq!(keys(&standing), [b"lease"]);
    assert_eq!(standing[0].expiry_ms, 1_000_019_999);
    flush(&store);
    assert!(store.expiry_names().unwrap() < 10_000);
    assert_eq!(keys(&expired(&store, u64::MAX, 256)), [b"lease"]);
}

#[test]
fn the_list_outlives_a_restart_and_is_flushed_with_the_data() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store
        .apply(&[expiring("k", "v", stamp(1, 1), 1_000)], 1)
        .unwrap();
    flush(&store);
    store
        .apply(&[expiring("unflushed", "v", stamp(2, 1), 1_000)], 2)
        .unwrap();
    drop(store); // As a crash: what was not flushed is replayed from the log.
    let store = open(dir.path());
    assert_eq!(store.applied(), 1);
    assert_eq!(keys(&expired(&store, 1_000, 10)), [b"k"]);
}
