#![allow(clippy::unwrap_used, clippy::expect_used)]
use dunlin_metadata::{Change, Keyspace, KeyspaceSettings, Members, NodeRecord, Topology};

use super::*;

#[test]
fn the_orders_of_one_change_spare_a_look_only_when_it_is_all_there_was() {
    // The change whose orders are known, up to which was swept, what is due.
    let cases = [
        ("the one since", 4, 3, 4, true),
        (
            "one before it, ended while this shard was down",
            4,
            2,
            4,
            false,
        ),
        ("one after it, that was not seen", 3, 2, 4, false),
        ("nothing was ever swept", 4, 0, 4, false),
        ("another one, known by chance", 3, 3, 4, false),
    ];
    for (what, change, swept, due, expected) in cases {
        assert_eq!(is_all_since(change, swept, due), expected, "{what}");
    }
}

/// Five nodes with `ids` as members, perhaps on their way to others.
fn placement(ids: &[u16], to: Option<&[u16]>) -> Placement {
    let node = |id| NodeRecord {
        id,
        name: format!("n{id}"),
        http: String::new(),
        listen: String::new(),
        shards: 1,
        incarnation: 1,
    };
    Placement::compute(&Topology {
        revision: 1,
        nodes: (1..=5).map(node).collect(),
        keyspaces: vec![Keyspace::new(3, "default", KeyspaceSettings::default())],
        members: Members {
            ids: ids.to_vec(),
            changes: 4,
            change: to.map(|to| Change {
                id: 4,
                to: to.to_vec(),
                dead: Vec::new(),
                phase: Phase::Copy,
            }),
        },
        ..Topology::default()
    })
}

#[test]
fn what_another_change_brought_goes_although_the_last_one_did_not_move_it() {
    let now = placement(&[1, 2, 3, 4], None);
    let keyspace = now.named("default").unwrap();
    let last = |partition: u16| keyspace.order(partition)[3];
    // Whoever is behind the replicas of a partition holds nothing of it, and held nothing by the
    // last change, which was given up.
    let before = placement(&[1, 2, 3, 4], Some(&[1, 2, 3, 4, 5]));
    for partition in 0..keyspace.partition_count() {
        let shard = last(partition);
        let has = |drops: Vec<Drop>| drops.iter().any(|drop| drop.partition == partition);
        assert!(!has(drops(&now, Some(&before), shard)));
        assert!(has(drops(&now, None, shard)));
    }
}
