#![allow(clippy::unwrap_used, clippy::expect_used)]
use dunlin_metadata::{Keyspace, KeyspaceSettings, RangeRecord, RangeReplica};

use super::*;

fn topology(drops: &[(u32, u64, bool)]) -> Topology {
    let drops = drops.iter().map(|(id, dropped_ms, purged)| Dropped {
        keyspace: Keyspace::new(*id, "x", KeyspaceSettings::default()),
        dropped_ms: *dropped_ms,
        purged: *purged,
    });
    Topology {
        dropped: drops.collect(),
        ..Topology::default()
    }
}

fn ids(next: &Next) -> Vec<u32> {
    next.due.iter().map(|dropped| dropped.keyspace.id).collect()
}

#[test]
fn a_drop_is_due_when_it_was_in_sight_for_the_whole_delay() {
    let start = Instant::now();
    let at = |s| start + Duration::from_secs(s);
    let delay = Duration::from_secs(10);
    let mut sight = Sight::default();
    let next = sight.look(&topology(&[(1, 5, false), (2, 5, true)]), at(0), delay);
    assert_eq!((ids(&next), next.wake), (vec![], Some(at(10))));
    let both = topology(&[(1, 5, false), (3, 5, false)]);
    let next = sight.look(&both, at(4), delay);
    assert_eq!((ids(&next), next.wake), (vec![], Some(at(10))));
    let next = sight.look(&both, at(10), delay);
    assert_eq!((ids(&next), next.wake), (vec![1], Some(at(14))));
    // Taken back and dropped again, it counts anew; so it does after a restart.
    let again = topology(&[(1, 6, false)]);
    assert_eq!(ids(&sight.look(&again, at(11), delay)), [0; 0]);
    assert_eq!(ids(&Sight::default().look(&both, at(11), delay)), [0; 0]);
    assert_eq!(ids(&sight.look(&again, at(21), delay)), [1]);
}

#[test]
fn without_a_delay_a_drop_is_due_at_once_and_with_the_longest_never() {
    let drops = topology(&[(1, 5, false)]);
    let now = Instant::now();
    assert_eq!(
        ids(&Sight::default().look(&drops, now, Duration::ZERO)),
        [1]
    );
    let next = Sight::default().look(&drops, now, Duration::MAX);
    assert_eq!((ids(&next), next.wake), (vec![], None));
}

/// Two ranges with three replicas each; of the second not all were made.
fn of_two_ranges() -> Keyspace {
    let replica = |node: u16| RangeReplica {
        id: node.into(),
        node,
        shard: 0,
        directory: None,
    };
    let range = |number, ready| RangeRecord {
        number,
        start: String::new(),
        config: 1,
        replicas: (1..=3).map(replica).collect(),
        target: Vec::new(),
        planned: 0,
        followed: 0,
        recovered: None,
        ready,
    };
    Keyspace {
        ranges: vec![range(0, true), range(1, false)],
        undrops: 2,
        ..Keyspace::new(7, "x", KeyspaceSettings::default())
    }
}

#[test]
fn a_transactional_keyspace_goes_when_nobody_needs_to_know_what_committed_there() {
    let row = |number, range, role: &str, ended| RangeStatus {
        number,
        range,
        role: role.to_owned(),
        ended,
        ..RangeStatus::default()
    };
    let cases = [
        ("nobody says anything", vec![], false),
        (
            "its leader says so",
            vec![row(7, 0, "leader", Some(5))],
            true,
        ),
        (
            "of an earlier drop",
            vec![row(7, 0, "leader", Some(3))],
            false,
        ),
        ("not yet", vec![row(7, 0, "leader", None)], false),
        ("a follower", vec![row(7, 0, "follower", Some(5))], false),
        (
            "another keyspace's",
            vec![row(8, 0, "leader", Some(5))],
            false,
        ),
        (
            "the other range's",
            vec![row(7, 1, "leader", Some(5))],
            false,
        ),
        (
            "one is silent for good",
            vec![
                row(7, 0, RangeStatus::SILENT, None),
                row(7, 0, "leader", None),
            ],
            false,
        ),
        (
            "a majority is",
            vec![
                row(7, 0, RangeStatus::SILENT, None),
                row(7, 0, RangeStatus::SILENT, None),
            ],
            true,
        ),
    ];
    for (name, rows, expected) in cases {
        let rows: Vec<&RangeStatus> = rows.iter().collect();
        assert_eq!(
            ranges_are_ended(&of_two_ranges(), &rows),
            expected,
            "{name}"
        );
    }
}
