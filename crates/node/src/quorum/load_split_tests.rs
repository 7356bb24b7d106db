#![allow(clippy::unwrap_used)]
use std::collections::BTreeMap;

use bytes::Bytes;
use dunlin_proto::pairs::{CheckedPairs, Pairs};
use proptest::prelude::*;

use super::{PIECE_BYTES, split};
use crate::placement::partition_among;

fn checked(pairs: &[(Vec<u8>, Vec<u8>)]) -> CheckedPairs {
    let mut body = Pairs::default();
    for (key, value) in pairs {
        body.push(key, value).unwrap();
    }
    CheckedPairs::check(body.seal().body().clone(), 1 << 16).unwrap()
}

proptest! {
    #[test]
    fn each_key_stands_once_in_its_partition_with_the_last_value(
        pairs in prop::collection::vec((prop::collection::vec(any::<u8>(), 1..3), prop::collection::vec(any::<u8>(), 0..4)), 0..60),
    ) {
        let expected: BTreeMap<Vec<u8>, Vec<u8>> = pairs.iter().cloned().collect();
        let mut found = BTreeMap::new();
        for (partition, part) in split(checked(&pairs), 4) {
            let all: Vec<(Bytes, Bytes)> = part.pairs().collect();
            prop_assert!(all.is_sorted_by(|a, b| a.0 < b.0));
            for (key, value) in all {
                prop_assert_eq!(partition_among(&key, 4), partition);
                found.insert(key.to_vec(), value.to_vec());
            }
        }
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn pieces_are_small_unless_a_pair_is_large() {
    let value = vec![1; PIECE_BYTES / 2];
    let large = vec![2; PIECE_BYTES * 2];
    let pairs = [1u8, 2, 3].map(|key| (vec![key], value.clone()));
    let mut pairs = pairs.to_vec();
    pairs.push((vec![4], large));
    let parts = split(checked(&pairs), 1);
    let sizes: Vec<usize> = parts[&0].pieces.iter().map(Bytes::len).collect();
    assert_eq!(sizes.len(), 4);
    assert!(sizes[..3].iter().all(|bytes| *bytes <= PIECE_BYTES));
}
