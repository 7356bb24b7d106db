#![allow(clippy::unwrap_used)]
use super::*;
use crate::members::{Change, Phase};
use crate::range_plan::tests::{add, cluster};

const KEPT: RangeReplica = RangeReplica {
    id: 2,
    node: 2,
    shard: 0,
    directory: Some(22),
};

fn by() -> Recover {
    Recover {
        keep: KEPT,
        config: 7,
        next: 5,
        recorded: 1,
        gone: Vec::new(),
        at_ms: 1_000,
        floor_ms: 21_000,
    }
}

fn bank() -> (Topology, Objects) {
    let mut topology = cluster(4, 1);
    add(&mut topology, "bank", 3, &["3"]);
    let mut store = Objects::at(1);
    store.insert(keyspace_key("bank"), Vec::new(), 1);
    (topology, store)
}

#[test]
fn a_range_begins_again_with_one_replica_and_numbers_that_nobody_had() {
    let (topology, store) = bank();
    let (_, after) = recover(&topology, &store, ("bank", 1), &by()).unwrap();
    assert_eq!(after.ranges[0], topology.keyspaces[0].ranges[0]);
    let range = &after.ranges[1];
    assert_eq!(range.replicas, [KEPT]);
    assert!(range.ready && range.is_beginning());
    assert_eq!(range.config, 7 + AHEAD);
    let recovered = range.recovered.unwrap();
    assert_eq!(
        (recovered.config, recovered.next),
        (range.config, 5 + AHEAD)
    );
    assert_eq!(range.target, topology.keyspaces[0].ranges[1].target);
    // Whatever an older copy of the metadata says.
    let older = &topology.keyspaces[0].ranges[1];
    assert_eq!(older.merged(range).recovered, range.recovered);
    assert_eq!(older.merged(range).replicas, [KEPT]);
    assert_eq!(range.merged(older), *range);
}

#[test]
fn one_that_is_made_anew_is_not_ready() {
    let (topology, store) = bank();
    let keep = RangeReplica {
        directory: None,
        id: 0,
        ..KEPT
    };
    let by = Recover { keep, ..by() };
    let (_, after) = recover(&topology, &store, ("bank", 0), &by).unwrap();
    let range = &after.ranges[0];
    assert!(!range.ready && range.is_beginning());
    // It has a number of its own.
    assert_eq!(range.replicas[0].id, 5 + AHEAD);
    assert_eq!(range.recovered.unwrap().next, 6 + AHEAD);
    assert!(!topology.keyspaces[0].ranges[0].merged(range).ready);
}

#[test]
fn a_change_since_the_survey_refuses_it() {
    let (mut topology, store) = bank();
    let why = |topology: &Topology, by: &Recover| {
        let refused = recover(topology, &store, ("bank", 0), by);
        refused.unwrap_err().to_string()
    };
    let refused = recover(&topology, &store, ("bank", 2), &by());
    assert!(refused.unwrap_err().to_string().contains("no such range"));
    let older = Recover {
        recorded: 0,
        ..by()
    };
    assert!(why(&topology, &older).contains("look again"));
    let dead = Recover {
        gone: vec![3],
        ..by()
    };
    assert!(why(&topology, &dead).contains("node n3 is not declared dead"));
    topology.members.change = Some(Change {
        id: 1,
        to: vec![1, 2, 4],
        dead: vec![3],
        phase: Phase::Copy,
    });
    assert!(recover(&topology, &store, ("bank", 0), &dead).is_ok());
    let keep = RangeReplica { node: 3, ..KEPT };
    let dead = Recover { keep, ..dead };
    assert!(why(&topology, &dead).contains("is gone"));
}
