#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use dunlin_client::{PairsBody, partition_of};

use super::Gathered;
use crate::wire::pair::Pairs as Encoded;

fn keys(body: &PairsBody) -> Vec<Vec<u8>> {
    let pairs = Encoded(body.encoded()).flatten();
    pairs.map(|pair| pair.key.to_vec()).collect()
}

/// All keys come once, those of a partition in one body and in order.
#[test]
fn a_partition_stands_in_one_body() {
    for (bodies, partitions) in [(1, 64), (4, 64), (3, 8), (9, 4), (4, 1), (0, 0)] {
        let mut gathered = Gathered::new(bodies, partitions);
        assert!(gathered.is_empty());
        let all: Vec<Vec<u8>> = (0..5_000u32).map(|n| n.to_be_bytes().to_vec()).collect();
        for key in &all {
            gathered.push(key, b"value").unwrap();
        }
        let sent = gathered.take_all();
        assert!(gathered.is_empty());
        let most = bodies.clamp(1, usize::from(partitions).max(1));
        assert_eq!(sent.len(), most, "{bodies} {partitions}");
        let mut of_partition: BTreeMap<u16, BTreeSet<usize>> = BTreeMap::new();
        let mut found = Vec::new();
        for (number, body) in sent.iter().enumerate() {
            let keys = keys(body);
            assert!(keys.is_sorted());
            for key in &keys {
                let partition = partition_of(key, partitions);
                of_partition.entry(partition).or_default().insert(number);
            }
            found.extend(keys);
        }
        assert!(of_partition.values().all(|bodies| bodies.len() == 1));
        found.sort();
        assert_eq!(found, all);
    }
}

/// A body that is full goes by itself.
#[test]
fn a_full_body_goes_alone() {
    let mut gathered = Gathered::new(2, 64);
    let mut sent = Vec::new();
    for number in 0..4_000u32 {
        let key = number.to_be_bytes();
        gathered.push(&key, &[7; 100]).unwrap();
        assert!(gathered.bytes_max() < 101_000);
        sent.extend(gathered.take_full(&key, 100_000));
    }
    assert_eq!(sent.len(), 4);
    assert!(sent.iter().all(|body| body.encoded().len() >= 100_000));
    sent.extend(gathered.take_all());
    assert_eq!(sent.iter().map(PairsBody::pairs).sum::<u64>(), 4_000);
}
