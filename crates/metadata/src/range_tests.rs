#![allow(clippy::unwrap_used)]
use super::*;
use crate::keyspace::KeyspaceSettings;
use crate::members::{Change, Phase};
use crate::node::NodeRecord;

fn cluster(nodes: u16, shards: u16) -> Topology {
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

fn add(topology: &mut Topology, id: u32, replicas: u8) -> Vec<(u16, u16)> {
    let settings = KeyspaceSettings {
        mode: Mode::Transactional,
        replicas,
        ..KeyspaceSettings::default()
    };
    let mut keyspace = Keyspace::new(id, &format!("k{id}"), settings);
    let range = RangeRecord::choose(topology, "k", replicas).unwrap();
    keyspace.range = Some(range.clone());
    topology.keyspaces.push(keyspace);
    range.replicas.iter().map(|r| (r.node, r.shard)).collect()
}

#[test]
fn ranges_are_spread_over_nodes_and_shards() {
    let mut topology = cluster(4, 2);
    assert_eq!(add(&mut topology, 1, 3), [(1, 0), (2, 0), (3, 0)]);
    assert_eq!(add(&mut topology, 2, 1), [(4, 0)]);
    assert_eq!(add(&mut topology, 3, 3), [(1, 1), (2, 1), (3, 1)]);
    assert_eq!(add(&mut topology, 4, 1), [(4, 1)]);
}

#[test]
fn too_few_members_are_refused() {
    let mut topology = cluster(3, 1);
    topology.members.change = Some(Change {
        id: 1,
        to: vec![1, 2],
        dead: vec![],
        phase: Phase::Copy,
    });
    let error = RangeRecord::choose(&topology, "accounts", 3).unwrap_err();
    assert!(error.to_string().contains("accounts"), "{error}");
}

#[test]
fn numbers_and_readiness_only_grow() {
    let topology = cluster(3, 1);
    let new = RangeRecord::choose(&topology, "k", 3).unwrap();
    let made = |node, directory| {
        Some(RangeReplica {
            node,
            shard: 0,
            directory: Some(directory),
        })
    };
    let one = new.with(made(1, 11));
    assert!(!one.ready);
    // The first number stays.
    assert_eq!(one.with(made(1, 99)), one);
    assert_eq!(one.with(made(7, 99)), one);
    let all = one.with(made(2, 12)).with(made(3, 13));
    assert!(all.ready);
    assert_eq!(new.merged(&all), all);
    assert_eq!(all.merged(&one), all);
}

#[test]
fn a_node_with_a_range_stays() {
    let mut topology = cluster(4, 1);
    add(&mut topology, 1, 3);
    assert!(check_stays(&topology, &[1, 2, 3]).is_ok());
    let error = check_stays(&topology, &[1, 2, 4]).unwrap_err();
    assert!(error.to_string().contains("n3"), "{error}");
    assert!(error.to_string().contains("k1"), "{error}");
}
