#![allow(clippy::unwrap_used, clippy::expect_used)]
use dunlin_metadata::{Keyspace, KeyspaceSettings, Members, NodeRecord, Topology};

use super::*;

fn shard(node: u16, shard: u16) -> ShardAddress {
    ShardAddress { node, shard }
}

#[test]
fn a_wider_write_waits_for_each_shard_that_may_stamp_deletes() {
    let writers = [shard(1, 0), shard(1, 1), shard(2, 0)];
    let waits = |told: &[(ShardAddress, &[(u32, u8)])]| -> Vec<ShardAddress> {
        let told = told.iter().map(|(shard, widths)| (*shard, widths.to_vec()));
        unaware(writers.iter().copied(), &told.collect(), 7, 5)
    };
    let all: &[(u32, u8)] = &[(3, 9), (7, 5)];
    assert_eq!(waits(&[]), writers, "who does not answer may know nothing");
    let (a, b, c) = ((writers[0], all), (writers[1], all), (writers[2], all));
    assert_eq!(waits(&[a, b, c]), []);
    assert_eq!(waits(&[a, c]), [writers[1]], "each shard for itself");
    assert_eq!(
        waits(&[a, b, (writers[2], &[(7, 4), (8, 5)])]),
        [writers[2]]
    );
    assert_eq!(waits(&[a, b, (writers[2], &[(7, 6)])]), [], "wider will do");
    // One that nobody waits for.
    assert_eq!(waits(&[a, b, c, (shard(3, 0), &[])]), []);
}

#[test]
fn the_line_names_who_is_waited_for() {
    let nodes = [1, 2, 3].map(|id| NodeRecord {
        id,
        name: format!("n{id}"),
        http: String::new(),
        listen: String::new(),
        shards: 2,
        incarnation: 1,
    });
    let placement = Placement::compute(&Topology {
        nodes: nodes.into(),
        keyspaces: vec![Keyspace::new(7, "k", KeyspaceSettings::default())],
        members: Members {
            ids: vec![1, 2, 3],
            ..Members::default()
        },
        ..Topology::default()
    });
    let line = |shards: &[ShardAddress]| waits_for(&placement, shards);
    let one = line(&[shard(2, 0), shard(2, 1)]);
    assert!(one.contains("n2 does not yet"), "{one}");
    let two = line(&[shard(2, 0), shard(3, 1)]);
    assert!(two.contains("n2, n3 do not yet"), "{two}");
}
