#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn pairs() -> impl Strategy<Value = Vec<(Origin, Version)>> {
    prop::collection::vec((0u64..8, 0u64..50), 0..30).prop_map(|list| {
        list.into_iter()
            .map(|(o, v)| (Origin(o), Version(v)))
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

#[test]
fn a_removed_origin_is_unseen() {
    let mut vector: Vector = [(Origin(1), Version(2))].into_iter().collect();
    assert_eq!(vector.remove(Origin(1)), Version(2));
    assert_eq!(vector.remove(Origin(1)), Version(0));
    assert!(vector.is_empty());
}
