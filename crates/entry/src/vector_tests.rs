#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn pairs() -> impl Strategy<Value = Vec<(Origin, Version)>> {
    prop::collection::vec((0u64..8, 0u64..50), 0..30).prop_map(|list| {
        list.into_iter()
            .map(|(o, v)| (Origin(o + 1), Version(v)))
            .collect()
    })
}

fn model(pairs: &[(Origin, Version)]) -> BTreeMap<Origin, Version> {
    let mut map = BTreeMap::new();
    for &(origin, version) in pairs.iter().filter(|pair| pair.1 != Version(0)) {
        let seen = map.entry(origin).or_insert(version);
        *seen = version.max(*seen);
    }
    map
}

proptest! {
    #[test]
    fn advancing_and_collecting_agree_with_a_map(list in pairs()) {
        let mut vector = Vector::new();
        for &(origin, version) in &list {
            let news = vector.get(origin) < version;
            prop_assert_eq!(vector.advance(origin, version), news);
        }
        let expected: Vec<_> = model(&list).into_iter().collect();
        prop_assert_eq!(vector.iter().collect::<Vec<_>>(), expected);
        prop_assert_eq!(list.into_iter().collect::<Vector>(), vector.clone());
        prop_assert_eq!(Vector::decode(&vector.encode()).unwrap(), vector);
    }

    #[test]
    fn a_merge_is_the_least_cover(a in pairs(), b in pairs()) {
        let (a, b): (Vector, Vector) = (a.into_iter().collect(), b.into_iter().collect());
        let mut merged = a.clone();
        merged.merge(&b);
        prop_assert!(merged.covers(&a) && merged.covers(&b));
        for (origin, version) in merged.iter() {
            prop_assert_eq!(version, a.get(origin).max(b.get(origin)));
        }
        prop_assert_eq!(a.covers(&b), merged == a);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = Vector::decode(&bytes);
        let mut sized = (bytes.len() as u32 / 16).to_le_bytes().to_vec();
        sized.extend(&bytes);
        prop_assert_eq!(Vector::decode(&sized).is_ok(), bytes.len() % 16 == 0);
    }
}

#[test]
fn a_count_beyond_the_bytes_is_refused() {
    assert!(matches!(
        Vector::decode(&u32::MAX.to_le_bytes()),
        Err(DecodeError::Short { .. })
    ));
}

const SHARD: Origin = Origin::new(2, 1, 0);

fn of_starts(pairs: &[(u32, u64)]) -> Vector {
    let pairs = pairs.iter();
    pairs
        .map(|(start, version)| (SHARD.at_start(*start), Version(*version)))
        .collect()
}

#[test]
fn a_seal_leaves_the_greatest_of_the_starts_it_covers() {
    let mut vector = of_starts(&[(1, 30), (2, 20), (4, 40)]);
    let other = Origin::new(2, 2, 1);
    vector.advance(other, Version(7));
    assert!(vector.advance(SHARD, Version(3)));
    let seen: Vec<_> = vector.iter().collect();
    let expected = [
        (SHARD, Version(3)),
        (SHARD.at_start(3), Version(30)),
        (SHARD.at_start(4), Version(40)),
        (other, Version(7)),
    ];
    assert_eq!(seen, expected);
    assert_eq!(vector.get(SHARD.at_start(2)), Version(30));
    assert_eq!(vector.get(SHARD.at_start(5)), Version(0));
    assert_eq!(vector.sealed_to(SHARD.at_start(9)), 3);
    let unsealed: Vec<_> = vector.unsealed().map(|pair| pair.0).collect();
    assert_eq!(unsealed, [SHARD.at_start(4), other]);
    // What comes late of one below it does not bring it back.
    assert!(!vector.advance(SHARD.at_start(1), Version(29)));
    assert!(vector.advance(SHARD.at_start(1), Version(31)));
    assert_eq!(vector.get(SHARD.at_start(2)), Version(31));
    assert_eq!(vector.len(), 4);
}

#[test]
fn a_seal_is_covered_by_a_seal_alone() {
    let sealed = of_starts(&[(0, 3), (3, 30)]);
    let open = of_starts(&[(1, 10), (3, 30)]);
    assert!(sealed.covers(&open));
    assert!(!open.covers(&sealed));
    assert!(!sealed.covers(&of_starts(&[(1, 31)])));
    assert!(of_starts(&[(0, 4), (4, 30)]).covers(&sealed));
}

proptest! {
    #[test]
    fn what_is_sealed_does_not_depend_on_the_order(
        mut list in prop::collection::vec((0u32..5, 1u64..9), 0..12),
        turn in 0usize..12,
    ) {
        let at_once = of_starts(&list);
        let turn = turn.min(list.len());
        list.rotate_left(turn);
        let mut one_by_one = Vector::new();
        for (start, version) in &list {
            one_by_one.advance(SHARD.at_start(*start), Version(*version));
        }
        prop_assert_eq!(&one_by_one, &at_once);
        let mut merged = of_starts(&list[..turn]);
        merged.merge(&of_starts(&list[turn..]));
        prop_assert_eq!(&merged, &at_once);
        let sealed = at_once.sealed_to(SHARD);
        for (start, version) in &list {
            prop_assert!(*start == 0 || at_once.get(SHARD.at_start(*start)) >= Version(*version));
            prop_assert!(*start == 0 || *start >= sealed || at_once.find(SHARD.at_start(*start)).is_err());
        }
    }
}
