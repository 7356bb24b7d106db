#![allow(clippy::unwrap_used, clippy::expect_used)]
use dunlin_metadata::{Dropped, KeyspaceSettings, Members};

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
        keyspaces: vec![Keyspace::new(3, "default", KeyspaceSettings::default())],
        members: Members {
            ids: (1..=nodes).collect(),
            ..Members::default()
        },
        ..Topology::default()
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
fn all_that_is_written_is_stored_by_as_many_whatever_it_asks_for() {
    let mut widened = topology(7, 1);
    let mut old = topology(7, 1);
    widened.keyspaces[0] = widened.keyspaces[0].widened(5, 5);
    (old.keyspaces[0].widest, old.keyspaces[0].known) = (0, 0);
    // (topology, kind, from asked for) -> what it carries, by how many it is stored.
    let cases = [
        (&topology(7, 1), Kind::Put, 1, 3, 3),
        (&topology(7, 1), Kind::Put, 3, 3, 3),
        (&topology(7, 1), Kind::Delete, 1, 3, 3),
        (&widened, Kind::Put, 1, 5, 5),
        (&widened, Kind::Delete, 3, 5, 5),
        // Before it is noted, and from nodes that do not note it.
        (&widened, Kind::Put, 6, 6, 6),
        (&old, Kind::Put, 1, 3, 3),
        (&old, Kind::Put, 5, 5, 5),
        // How wide its puts were, nobody knows.
        (&old, Kind::Delete, 1, 255, 7),
    ];
    for (topology, kind, from, carried, stored) in cases {
        let placement = Placement::compute(topology);
        let keyspace = placement.named("default").unwrap();
        assert_eq!(keyspace.width_of_write(kind, from), carried);
        assert_eq!(holders(keyspace, carried), stored, "{kind:?} from={from}");
    }
    // What was written before the keyspace was widened, and what old versions wrote.
    let placement = Placement::compute(&widened);
    let keyspace = placement.named("default").unwrap();
    for (carried, stored) in [(1, 3), (3, 3), (4, 4), (7, 7), (255, 7)] {
        assert_eq!(holders(keyspace, carried), stored);
    }
}

/// By how many of its replicas, the same of each partition, entries are held that carry `from`.
fn holders(keyspace: &KeyspacePlacement, from: u8) -> usize {
    let count = |partition: u16| {
        let order = keyspace.order(partition);
        let holds = |shard: &&ShardAddress| keyspace.holds(**shard, partition, from);
        let first = order.iter().take_while(holds).count();
        assert_eq!(order.iter().filter(holds).count(), first);
        first
    };
    assert!((0..keyspace.partition_count()).all(|partition| count(partition) == count(0)));
    count(0)
}

#[test]
fn who_may_stamp_writes_is_every_member_before_and_after_a_change() {
    let mut topology = topology(6, 2);
    topology.members.ids = vec![1, 2, 3];
    let writers = |topology: &Topology| -> Vec<u16> {
        let placement = Placement::compute(topology);
        let shards: BTreeSet<u16> = placement.writers().map(|s| s.node).collect();
        shards.into_iter().collect()
    };
    assert_eq!(writers(&topology), [1, 2, 3], "spare nodes stamp nothing");
    for phase in [Phase::Copy, Phase::Joint, Phase::Switch, Phase::Settle] {
        topology.members.change = Some(Change {
            id: 1,
            to: vec![2, 3, 4, 5],
            dead: vec![1],
            phase,
        });
        assert_eq!(
            writers(&topology),
            [2, 3, 4, 5],
            "the dead are not waited for"
        );
    }
}

#[test]
fn while_members_change_those_who_join_may_share_with_those_who_are_members() {
    let mut topology = topology(5, 1);
    topology.members.ids = vec![1, 2];
    let node = |node| ShardAddress { node, shard: 0 };
    // (phase, a, b) -> they may share, a is outside.
    let cases = [
        (None, 1, 2, true, false),
        (None, 3, 1, false, true),
        (Some(Phase::Copy), 3, 1, true, false),
        (Some(Phase::Copy), 3, 4, true, false),
        (Some(Phase::Settle), 1, 3, true, false),
        (Some(Phase::Copy), 3, 3, false, false),
        (Some(Phase::Copy), 5, 1, false, true),
    ];
    for (phase, a, b, may_share, is_outside) in cases {
        topology.members.change = phase.map(|phase| Change {
            id: 1,
            to: vec![2, 3, 4],
            dead: Vec::new(),
            phase,
        });
        let placement = Placement::compute(&topology);
        let what = format!("{phase:?}: {a} and {b}");
        assert_eq!(placement.may_share(node(a), node(b)), may_share, "{what}");
        assert_eq!(placement.is_outside(node(a)), is_outside, "{what}");
    }
}

#[test]
fn only_those_to_whom_a_writer_sends_say_what_there_is_of_it() {
    let placement = Placement::compute(&topology(3, 2));
    let shard = |node, shard| ShardAddress { node, shard };
    let writer = Origin::new(1, 0, 2);
    assert!(placement.share(shard(1, 0), shard(2, 0)));
    // (what, who says how much) -> what there is.
    type Told = Vec<(ShardAddress, u64)>;
    let cases: [(&str, Told, u64); 4] = [
        ("the writer", vec![(shard(1, 0), 5)], 5),
        (
            "others have more",
            vec![(shard(1, 0), 5), (shard(2, 0), 6), (shard(3, 1), 4)],
            6,
        ),
        (
            "one beside it was given what all others have lost",
            vec![(shard(1, 1), 7), (shard(1, 0), 5), (shard(2, 0), 4)],
            5,
        ),
        ("nobody who knows", vec![(shard(1, 1), 7)], 0),
    ];
    for (what, told, expected) in cases {
        let told = told
            .into_iter()
            .map(|(shard, version)| (shard, std::iter::once((writer, Version(version)))));
        let held = placement.vouched_for(told);
        assert_eq!(held.get(writer), Version(expected), "{what}");
    }
}

#[test]
fn a_record_was_always_meant_for_those_alone_who_neither_join_nor_leave() {
    let mut topology = topology(4, 1);
    topology.members.ids = vec![1, 2, 3];
    let kept_by = |topology: &Topology| -> Vec<u16> {
        let placement = Placement::compute(topology);
        let keyspace = placement.named("default").unwrap();
        let node = |node| ShardAddress { node, shard: 0 };
        let is_kept = |id: &u16| keyspace.is_kept_by(node(*id), 0, 3);
        (1..=4).filter(is_kept).collect()
    };
    // Three replicas of three members each: node 1 leaves, node 4 joins.
    let cases = [
        (None, vec![1, 2, 3]),
        (Some(Phase::Copy), vec![1, 2, 3]),
        (Some(Phase::Joint), vec![1, 2, 3]),
        // Others may be a phase further, and send the one that leaves nothing any more.
        (Some(Phase::Switch), vec![2, 3]),
        (Some(Phase::Settle), vec![2, 3]),
    ];
    for (phase, expected) in cases {
        topology.members.change = phase.map(|phase| Change {
            id: 1,
            to: vec![2, 3, 4],
            dead: vec![],
            phase,
        });
        assert_eq!(kept_by(&topology), expected, "{phase:?}");
    }
}

#[test]
fn a_range_shows_nothing_that_lies_where_it_does_not_belong() {
    // Two replicas of three members each: 1 leaves, 4 joins.
    let mut topology = topology(4, 1);
    topology.keyspaces[0].settings.replicas = 2;
    (topology.keyspaces[0].widest, topology.keyspaces[0].known) = (2, 2);
    topology.members.ids = vec![1, 2, 3];
    for phase in [
        None,
        Some(Phase::Copy),
        Some(Phase::Joint),
        Some(Phase::Switch),
        Some(Phase::Settle),
    ] {
        topology.members.change = phase.map(|phase| Change {
            id: 1,
            to: vec![2, 3, 4],
            dead: vec![],
            phase,
        });
        let placement = Placement::compute(&topology);
        let keyspace = placement.named("default").unwrap();
        for partition in 0..keyspace.partition_count() {
            let (old, new) = keyspace.orders(partition);
            for node in 1..=4 {
                let shard = ShardAddress { node, shard: 0 };
                let (is_old, is_new) = (old[..2].contains(&shard), new[..2].contains(&shard));
                let expected = match phase {
                    // What a newcomer holds before it has copied all may be from another time.
                    None | Some(Phase::Copy) => is_old,
                    Some(Phase::Joint | Phase::Switch) => is_old || is_new,
                    Some(Phase::Settle) => is_new,
                };
                assert_eq!(
                    keyspace.shows(shard, partition),
                    expected,
                    "{phase:?} {node}"
                );
                // Whoever is read shows what it has.
                let is_read = keyspace.replicas(partition, 2).contains(&shard);
                assert!(!is_read || expected, "{phase:?} {node}");
            }
        }
    }
}

#[test]
fn what_a_wider_write_has_reached_is_shown() {
    let mut topology = topology(5, 1);
    let shown = |topology: &Topology| {
        let placement = Placement::compute(topology);
        let keyspace = placement.named("default").unwrap();
        let order = keyspace.order(0).to_vec();
        order.iter().filter(|s| keyspace.shows(**s, 0)).count()
    };
    assert_eq!(shown(&topology), 3);
    topology.keyspaces[0] = topology.keyspaces[0].widened(5, 5);
    assert_eq!(shown(&topology), 5);
    // Of a keyspace from before that was noted nobody knows how wide it was written.
    (topology.keyspaces[0].widest, topology.keyspaces[0].known) = (0, 0);
    assert_eq!(shown(&topology), 5);
}

#[test]
fn who_alone_stores_a_partition_is_so_for_every_from() {
    let alone = |topology: &Topology| {
        let placement = Placement::compute(topology);
        let keyspace = placement.named("default").unwrap();
        let order = keyspace.order(0);
        let is_alone = |shard: &&ShardAddress| keyspace.is_alone(**shard, 0);
        let found: Vec<_> = order.iter().filter(is_alone).copied().collect();
        (order[0], found)
    };
    let mut topology = topology(3, 1);
    assert_eq!(alone(&topology).1, []);
    topology.keyspaces[0].settings.replicas = 1;
    let narrow = topology.keyspaces[0].clone();
    (topology.keyspaces[0].widest, topology.keyspaces[0].known) = (1, 1);
    let (first, found) = alone(&topology);
    assert_eq!(found, [first]);
    // Once a write has asked for more, or nobody knows whether one has.
    topology.keyspaces[0] = narrow.widened(3, 1);
    assert_eq!(alone(&topology).1, []);
    (topology.keyspaces[0].widest, topology.keyspaces[0].known) = (0, 0);
    assert_eq!(alone(&topology).1, []);
    // While the partition goes from one to another.
    (topology.keyspaces[0].widest, topology.keyspaces[0].known) = (1, 1);
    for phase in [Phase::Copy, Phase::Joint, Phase::Switch, Phase::Settle] {
        topology.members.change = Some(Change {
            id: 1,
            to: (1..=3).filter(|node| *node != first.node).collect(),
            dead: vec![],
            phase,
        });
        assert_eq!(alone(&topology).1, [], "{phase:?}");
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
fn a_dropped_keyspace_has_no_name_and_goes_only_when_it_is_purged() {
    let mut topology = topology(1, 1);
    let keyspace = topology.keyspaces.pop().unwrap();
    topology.dropped = vec![Dropped {
        keyspace,
        dropped_ms: 0,
        purged: false,
    }];
    let dropped = Placement::compute(&topology);
    assert!(dropped.named("default").is_none());
    assert!(dropped.keyspace(3).is_some(), "its data is kept up to date");
    topology.dropped[0].purged = true;
    let purged = Placement::compute(&topology);
    assert!(purged.keyspace(3).is_none());
    // What is merely not there is not purged.
    let numbers = (1..=4).filter(|id| purged.is_purged(*id));
    assert_eq!(numbers.collect::<Vec<_>>(), [3]);
    assert!((1..=4).all(|id| !dropped.is_purged(id)));
}

#[test]
fn others_are_told_of_what_is_dropped_or_was_taken_back() {
    let keyspace = |id, undrops| Keyspace {
        undrops,
        ..Keyspace::new(id, &format!("k{id}"), KeyspaceSettings::default())
    };
    let dropped = |id, undrops, purged| Dropped {
        keyspace: keyspace(id, undrops),
        dropped_ms: 0,
        purged,
    };
    let mut topology = topology(3, 1);
    topology.revision = 9;
    topology.keyspaces = vec![keyspace(3, 0), keyspace(4, 2)];
    topology.dropped = vec![dropped(5, 0, false), dropped(6, 1, true)];
    let drops = Placement::compute(&topology).drops;
    assert_eq!(drops.order, (0, 9));
    let fates: Vec<(u32, u32, bool)> = drops
        .fates
        .iter()
        .map(|(id, fate)| (*id, fate.undrops, fate.is_dropped))
        .collect();
    assert_eq!(fates, [(4, 2, false), (5, 0, true), (6, 1, true)]);
}

#[test]
fn a_step_is_that_of_what_is_read_and_only_grows() {
    let mut topology = topology(4, 1);
    topology.members.ids = vec![1, 2, 3];
    // Changes begun, phase of the one under way, the step, whether node 4 has confirmed all before. It
    // is to take the place of node 3.
    let cases = [
        (0, None, 3, false),
        (1, Some(Phase::Copy), 3, false),
        (1, Some(Phase::Joint), 5, true),
        (1, Some(Phase::Switch), 6, true),
        (1, Some(Phase::Settle), 7, true),
        (1, None, 7, false),
        (2, Some(Phase::Copy), 7, false),
        (2, Some(Phase::Joint), 9, true),
    ];
    let mut before = 0;
    for (changes, phase, step, confirmed) in cases {
        topology.members.changes = changes;
        topology.members.change = phase.map(|phase| Change {
            id: changes,
            to: vec![1, 2, 4],
            dead: Vec::new(),
            phase,
        });
        let placement = Placement::compute(&topology);
        assert_eq!(placement.step(), step, "{changes} {phase:?}");
        assert!(step >= before);
        before = step;
        assert_eq!(placement.is_awaited(4), confirmed, "{changes} {phase:?}");
        assert!(placement.is_awaited(3), "it leaves when all know");
        assert!(!placement.is_awaited(5), "spare");
    }
}
