#![allow(clippy::unwrap_used)]
use super::*;
use crate::keyspace::Mode;
use crate::members::{Change, Phase};

pub(crate) fn cluster(nodes: u16, shards: u16) -> Topology {
    let nodes_of = (1..=nodes).map(|id| NodeRecord {
        id,
        name: format!("n{id}"),
        http: String::new(),
        listen: String::new(),
        shards,
        incarnation: 1,
    });
    let mut topology = Topology {
        nodes: nodes_of.collect(),
        ..Topology::default()
    };
    topology.members.ids = (1..=nodes).collect();
    topology
}

pub(crate) fn add(topology: &mut Topology, name: &str, replicas: u8, split_at: &[&str]) {
    let settings = KeyspaceSettings {
        mode: Mode::Transactional,
        replicas,
        split_at: split_at.iter().map(|key| (*key).to_owned()).collect(),
        ..KeyspaceSettings::default()
    };
    let id = topology.keyspaces.len() as u32 + 1;
    let mut keyspace = Keyspace::new(id, name, settings);
    keyspace.ranges = new_ranges(topology, name, &keyspace.settings).unwrap();
    for range in &mut keyspace.ranges {
        range.ready = true;
    }
    topology.keyspaces.push(keyspace);
}

/// All ranges reach their targets.
pub(crate) fn follow(topology: &mut Topology) {
    for range in topology
        .keyspaces
        .iter_mut()
        .flat_map(|keyspace| &mut keyspace.ranges)
    {
        range.followed = range.planned;
        range.config += 1;
        let ids = range.config * 100..;
        let target = range.target.iter().zip(ids);
        range.replicas = target
            .map(|(place, id)| RangeReplica {
                id,
                node: place.node,
                shard: place.shard,
                directory: Some(id),
            })
            .collect();
    }
}

/// Plans, and follows, until there is nothing to plan.
fn until_even(topology: &mut Topology) -> usize {
    let mut rounds = 0;
    loop {
        let planned = plan_places(topology);
        if planned.is_empty() {
            return rounds;
        }
        for next in planned {
            let found = topology.keyspaces.iter_mut().find(|k| k.id == next.id);
            *found.unwrap() = next;
        }
        follow(topology);
        rounds += 1;
        assert!(rounds < 9, "it never ends");
    }
}

fn change(topology: &mut Topology, to: &[u16], dead: &[u16]) {
    topology.members.change = Some(Change {
        id: 1,
        to: to.to_vec(),
        dead: dead.to_vec(),
        phase: Phase::Copy,
    });
}

fn nodes_of(range: &RangeRecord) -> Vec<u16> {
    range.target.iter().map(|place| place.node).collect()
}

fn counts(topology: &Topology) -> Vec<(u16, usize, usize)> {
    let load = Load::of(topology);
    let nodes = topology.nodes.iter();
    let of = |node: &NodeRecord| {
        let led = load.led.get(&node.id).copied().unwrap_or(0);
        (node.id, load.on(node), led)
    };
    nodes.map(of).collect()
}

fn held(topology: &Topology) -> Vec<usize> {
    counts(topology).iter().map(|(_, held, _)| *held).collect()
}

#[test]
fn leaders_of_new_ranges_are_spread() {
    let mut topology = cluster(3, 2);
    add(&mut topology, "bank", 3, &["3", "6"]);
    assert_eq!(counts(&topology), [(1, 3, 1), (2, 3, 1), (3, 3, 1)]);
    assert_eq!(plan_places(&topology), []);
}

#[test]
fn ranges_leave_a_node_that_is_drained_and_nothing_else_does() {
    let mut topology = cluster(4, 2);
    add(&mut topology, "bank", 3, &["3", "6"]);
    add(&mut topology, "_oracle", 3, &[]);
    assert_eq!(held(&topology), [3, 3, 3, 3]);
    let before = topology.clone();
    change(&mut topology, &[2, 3, 4], &[]);
    assert!(!ranges_outside(&topology, &[2, 3, 4]).is_empty());
    assert!(check_left(&topology, 1, Phase::Copy).is_err());
    assert!(check_left(&topology, 1, Phase::Joint).is_ok());
    assert_eq!(until_even(&mut topology), 1);
    assert!(check_left(&topology, 1, Phase::Copy).is_ok());
    assert_eq!(held(&topology), [0, 4, 4, 4]);
    assert_eq!(ranges_outside(&topology, &[2, 3, 4]), Vec::<String>::new());
    for (keyspace, range) in all(&topology) {
        let was = before.keyspace(keyspace.id).unwrap();
        let was = was.range(range.number).unwrap();
        let kept = |range: &RangeRecord| {
            let mut kept: Vec<RangePlace> = range.target.clone();
            kept.retain(|place| was.target.contains(place));
            kept.len()
        };
        assert_eq!(
            kept(range),
            kept(was) - usize::from(nodes_of(was).contains(&1))
        );
    }
}

#[test]
fn a_dead_node_is_replaced_and_too_few_nodes_change_nothing() {
    let mut topology = cluster(4, 1);
    topology.members.ids = vec![1, 2, 3];
    add(&mut topology, "bank", 3, &[]);
    change(&mut topology, &[1, 2, 3], &[3]);
    assert_eq!(plan_places(&topology), []);
    change(&mut topology, &[1, 2, 4], &[3]);
    until_even(&mut topology);
    let mut nodes = nodes_of(&topology.keyspaces[0].ranges[0]);
    nodes.sort_unstable();
    assert_eq!(nodes, [1, 2, 4]);
}

#[test]
fn nodes_are_made_even_once_nothing_is_on_its_way() {
    let mut topology = cluster(4, 2);
    topology.members.ids = vec![1, 2, 3];
    add(&mut topology, "bank", 3, &["3", "6"]);
    add(&mut topology, "_oracle", 3, &[]);
    topology.members.ids.push(4);
    topology.keyspaces[0].ranges[0].planned = 1;
    assert_eq!(plan_places(&topology), []);
    topology.keyspaces[0].ranges[0].followed = 1;
    until_even(&mut topology);
    let held = held(&topology);
    assert_eq!(held, [3, 3, 3, 3]);
    // The new node leads as many as the others.
    assert!(counts(&topology).iter().all(|(_, _, led)| *led <= 2));
    assert!(counts(&topology)[3].2 >= 1);
}

#[test]
fn a_range_that_an_operator_has_put_somewhere_stays_where_another_can_go() {
    let mut topology = cluster(4, 1);
    add(&mut topology, "bank", 3, &["3", "6", "9"]);
    until_even(&mut topology);
    let free = |range: &RangeRecord| (1..=4).find(|node| !nodes_of(range).contains(node));
    let ranges = &topology.keyspaces[0].ranges;
    let (at, from) = (0, nodes_of(&ranges[0])[0]);
    let to = free(&ranges[0]).unwrap();
    let mut target = ranges[at].target.clone();
    target.retain(|place| place.node != from);
    target.push(RangePlace { node: to, shard: 0 });
    let wanted = ranges[at].with_target(target);
    topology.keyspaces[0].ranges[at] = wanted.clone();
    follow(&mut topology);
    assert_eq!(until_even(&mut topology), 1);
    assert_eq!(held(&topology), [3, 3, 3, 3]);
    assert_eq!(topology.keyspaces[0].ranges[at].target, wanted.target);
}

#[test]
fn the_oracle_has_three_replicas_where_there_is_room() {
    let mut topology = cluster(3, 1);
    topology.members.ids = vec![1];
    add(&mut topology, "_oracle", 1, &[]);
    topology.members.ids = vec![1, 2];
    until_even(&mut topology);
    assert_eq!(topology.keyspaces[0].settings.replicas, 1);
    topology.members.ids = vec![1, 2, 3];
    until_even(&mut topology);
    assert_eq!(topology.keyspaces[0].settings.replicas, 3);
    assert_eq!(nodes_of(&topology.keyspaces[0].ranges[0]), [1, 2, 3]);
    change(&mut topology, &[2, 3], &[]);
    until_even(&mut topology);
    assert_eq!(topology.keyspaces[0].settings.replicas, 1);
    assert_eq!(nodes_of(&topology.keyspaces[0].ranges[0]), [2]);
}

#[test]
fn a_target_that_the_record_has_lost_is_not_undone() {
    let mut topology = cluster(4, 1);
    add(&mut topology, "bank", 3, &[]);
    let old = topology.keyspaces[0].ranges[0].clone();
    let moved: Vec<RangePlace> = (2..=4).map(|node| RangePlace { node, shard: 0 }).collect();
    let range = &mut topology.keyspaces[0].ranges[0];
    *range = range.with_target(moved.clone());
    follow(&mut topology);
    // The metadata is put back; the leader publishes its replicas again.
    let range = &mut topology.keyspaces[0].ranges[0];
    (range.target, range.planned) = (old.target, old.planned);
    assert!(!ranges_outside(&topology, &[1, 2, 3, 4]).is_empty());
    let planned = plan_places(&topology).remove(0).ranges.remove(0);
    assert_eq!((planned.target, planned.planned), (moved, 2));
}

#[test]
fn shards_that_a_node_has_no_more_are_left() {
    let mut topology = cluster(3, 2);
    add(&mut topology, "one", 3, &[]);
    add(&mut topology, "two", 3, &[]);
    topology.nodes[1].shards = 1;
    until_even(&mut topology);
    let mut places = topology.keyspaces.iter().flat_map(|k| &k.ranges[0].target);
    assert!(places.all(|place| place.node != 2 || place.shard == 0));
}
