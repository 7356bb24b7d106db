#![allow(clippy::unwrap_used)]
use super::*;
use crate::keyspace::KeyspaceSettings;
use crate::members::{Change, Phase};
use crate::range_plan::new_ranges;
use crate::range_plan::tests::cluster;
use crate::topology::Topology;

fn settings(replicas: u8, split_at: &[&str]) -> KeyspaceSettings {
    KeyspaceSettings {
        mode: Mode::Transactional,
        replicas,
        split_at: split_at.iter().map(|key| (*key).to_owned()).collect(),
        ..KeyspaceSettings::default()
    }
}

/// Where the replicas of a new range are; leaders are spread over nodes, which is another matter.
fn add(topology: &mut Topology, id: u32, replicas: u8) -> Vec<(u16, u16)> {
    let mut keyspace = Keyspace::new(id, &format!("k{id}"), settings(replicas, &[]));
    keyspace.ranges = new_ranges(topology, "k", &keyspace.settings).unwrap();
    let range = keyspace.ranges[0].clone();
    topology.keyspaces.push(keyspace);
    let replicas = range.replicas.iter();
    let mut shards: Vec<(u16, u16)> = replicas.map(|r| (r.node, r.shard)).collect();
    shards.sort_unstable();
    shards
}

#[test]
fn keys_belong_to_the_range_that_began_last() {
    let topology = cluster(3, 2);
    let mut keyspace = Keyspace::new(1, "bank", settings(3, &["3", "6"]));
    keyspace.ranges = new_ranges(&topology, "bank", &keyspace.settings).unwrap();
    let shards = keyspace.ranges.iter().map(|range| range.replicas[0].shard);
    assert_eq!(shards.collect::<Vec<_>>(), [0, 1, 0]);
    let of = |key: &str| keyspace.range_of(key.as_bytes());
    assert_eq!(
        ["", "1", "29", "3", "5", "6", "9"].map(of),
        [0, 0, 0, 1, 1, 2, 2]
    );
    let ends = [0, 1, 2].map(|index| keyspace.range_end(index));
    assert_eq!(ends, [Some("3"), Some("6"), None]);
}

#[test]
fn keys_to_cut_at_are_ascending_and_for_transactional_keyspaces() {
    assert!(settings(3, &["3", "6"]).check().is_ok());
    for wrong in [&["6", "3"][..], &["3", "3"], &[""]] {
        assert!(settings(3, wrong).check().is_err(), "{wrong:?}");
    }
    let quorum = KeyspaceSettings {
        mode: Mode::Quorum,
        ..settings(3, &["3"])
    };
    assert!(quorum.check().is_err());
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
    let error = new_ranges(&topology, "accounts", &settings(3, &[])).unwrap_err();
    assert!(error.to_string().contains("accounts"), "{error}");
}

#[test]
fn numbers_and_readiness_only_grow() {
    let topology = cluster(3, 1);
    let new = new_ranges(&topology, "k", &settings(3, &[]))
        .unwrap()
        .remove(0);
    let made = |node: u16, directory| {
        Some(RangeReplica {
            id: node.into(),
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
fn the_newer_configuration_of_a_range_counts() {
    let topology = cluster(3, 1);
    let mut keyspace = Keyspace::new(1, "bank", settings(3, &["3"]));
    keyspace.ranges = new_ranges(&topology, "bank", &keyspace.settings).unwrap();
    let mut replicas = keyspace.ranges[1].replicas.clone();
    replicas[1].id = 4;
    let now = |config| RangeReplicas {
        number: 1,
        config,
        followed: 0,
        replicas: replicas.clone(),
    };
    let range = &keyspace.ranges[1];
    assert_eq!(&range.published(&now(1)), range);
    let newer = range.published(&now(5));
    assert_eq!((newer.config, newer.replicas[1].id), (5, 4));
    assert_eq!(newer.published(&now(4)), newer);
    let mut known = keyspace.clone();
    known.ranges[1] = newer.clone();
    // A store that was put back from an older copy, and a node that knows less.
    assert_eq!(keyspace.grown(&known).ranges, known.ranges);
    assert_eq!(known.grown(&keyspace).ranges, known.ranges);
}

#[test]
fn ranges_cover_all_keys_and_have_a_number_each() {
    let topology = cluster(3, 1);
    let mut keyspace = Keyspace::new(1, "bank", settings(3, &["3", "6"]));
    assert!(!keyspace.has_sound_ranges());
    keyspace.ranges = new_ranges(&topology, "bank", &keyspace.settings).unwrap();
    assert!(keyspace.has_sound_ranges());
    let changed = |change: fn(&mut Vec<RangeRecord>)| {
        let mut changed = keyspace.clone();
        change(&mut changed.ranges);
        changed.has_sound_ranges()
    };
    assert!(!changed(|ranges| drop(ranges.remove(0))));
    assert!(!changed(|ranges| ranges.swap(1, 2)));
    assert!(!changed(|ranges| ranges[2].number = 1));
    assert!(!changed(|ranges| ranges[1].replicas.clear()));
}
