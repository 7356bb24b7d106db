#![allow(clippy::unwrap_used, clippy::expect_used)]
use dunlin_metadata::{KeyspaceSettings, Members};

use super::*;

fn topology(nodes: u16, shards: u16) -> Topology {
    Topology {
        revision: 1,
        nodes: (1..=nodes)
            .map(|id| NodeRecord {
                id,
                name: format!("n{id}"),
                http: String::new(),
                listen: String::new(),
                shards,
                incarnation: 1,
            })
            .collect(),
        keyspaces: vec![Keyspace {
            id: 3,
            name: "default".into(),
            settings: KeyspaceSettings::default(),
        }],
        members: Members {
            ids: (1..=nodes).collect(),
            ..Members::default()
        },
    }
}

#[test]
fn a_smaller_from_is_a_prefix_and_every_node_is_ranked_once() {
    let placement = Placement::compute(&topology(5, 2));
    let keyspace = placement.named("default").unwrap();
    for partition in 0..keyspace.partition_count() {
        let all = keyspace.replicas(partition, 5);
        assert_eq!(all.len(), 5);
        let mut nodes: Vec<u16> = all.iter().map(|s| s.node).collect();
        nodes.sort_unstable();
        assert_eq!(nodes, [1, 2, 3, 4, 5]);
        for from in 1..5u8 {
            assert_eq!(keyspace.replicas(partition, from), &all[..from as usize]);
        }
    }
}

#[test]
fn a_node_that_joins_takes_partitions_and_moves_none_between_others() {
    let before = Placement::compute(&topology(4, 1));
    let after = Placement::compute(&topology(5, 1));
    let (before, after) = (
        before.named("default").unwrap(),
        after.named("default").unwrap(),
    );
    for partition in 0..before.partition_count() {
        let without_new: Vec<_> = after
            .order(partition)
            .iter()
            .filter(|s| s.node != 5)
            .copied()
            .collect();
        assert_eq!(without_new, before.order(partition));
    }
}

#[test]
fn partitions_spread_over_nodes() {
    let placement = Placement::compute(&topology(4, 1));
    let keyspace = placement.named("default").unwrap();
    let mut first = [0; 5];
    for partition in 0..keyspace.partition_count() {
        first[keyspace.replicas(partition, 1)[0].node as usize] += 1;
    }
    assert!(first[1..].iter().all(|n| *n > 4), "{first:?}");
}

#[test]
fn an_unknown_lower_number_has_been_dropped() {
    let placement = Placement::compute(&topology(1, 1));
    assert!(placement.is_dropped(2));
    assert!(!placement.is_dropped(3));
    assert!(!placement.is_dropped(4));
}
