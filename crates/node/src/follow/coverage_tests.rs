#![allow(clippy::unwrap_used)]

use dunlin_entry::Origin;

use super::*;

const A: Origin = Origin::new(1, 0, 1);

fn place(partition: u16) -> Place {
    Place {
        keyspace: 7,
        partition,
    }
}

fn seen(version: u64) -> Vector {
    [(A, Version(version))].into_iter().collect()
}

fn found(last: Index) -> Found {
    Found {
        incarnation: 3,
        last,
        is_doubted: false,
        newest: Version(99),
    }
}

fn mark(coverage: &Coverage, partition: u16) -> Option<(Index, Option<Vector>)> {
    match coverage.of(place(partition)) {
        Serves::Behind(mark) => Some((mark.index, mark.needs.clone())),
        _ => None,
    }
}

/// As it is after a restart that finds the log ending at `last`.
fn again(coverage: &Coverage, found: &Found) -> Coverage {
    let note = Note::of(coverage, &seen(50), 3);
    let json = serde_json::to_vec(&note).unwrap();
    Coverage::begin(serde_json::from_slice(&json).unwrap(), found)
}

#[test]
fn an_empty_log_tells_all_and_one_without_a_note_nothing() {
    let new = Coverage::begin(None, &found(0));
    assert_eq!(mark(&new, 1), Some((0, Some(Vector::new()))));
    let old = Coverage::begin(None, &found(40));
    assert_eq!(mark(&old, 1), Some((40, None)));
    assert_eq!((old.since, old.forgotten(7)), (3, Version(99)));
}

#[test]
fn an_open_gap_serves_nobody_and_leaves_a_mark() {
    let mut coverage = Coverage::begin(None, &found(0));
    coverage.open();
    coverage.open();
    assert_eq!(coverage.of(place(1)), Serves::Open);
    coverage.close(10, Some(seen(5)));
    assert_eq!(coverage.of(place(1)), Serves::Open);
    coverage.close(20, Some(seen(6)));
    assert_eq!(mark(&coverage, 1), Some((20, Some(seen(6)))));
}

#[test]
fn of_gaps_of_which_one_ended_early_nobody_is_known_to_have_all() {
    let mut coverage = Coverage::begin(None, &found(0));
    coverage.open();
    coverage.open();
    coverage.close(10, None);
    coverage.close(20, Some(seen(6)));
    assert_eq!(mark(&coverage, 1), Some((20, None)));
    coverage.open();
    coverage.close(30, Some(seen(7)));
    assert_eq!(mark(&coverage, 1), Some((30, Some(seen(7)))));
}

#[test]
fn a_restart_ends_a_gap_early_and_keeps_what_is_away() {
    let mut coverage = Coverage::begin(None, &found(0));
    coverage.open();
    coverage.leave([place(2), place(3), place(9)]);
    let coverage = again(&coverage, &found(25));
    assert_eq!(mark(&coverage, 1), Some((25, None)));
    assert_eq!(coverage.of(place(2)), Serves::Away);
    assert_eq!(coverage.away().count(), 3);
    assert_eq!(coverage.strays, seen(50));
}

#[test]
fn a_restart_that_finds_all_as_it_was_changes_nothing() {
    let mut coverage = Coverage::begin(None, &found(0));
    coverage.open();
    coverage.close(20, Some(seen(6)));
    coverage.leave([place(2), place(3)]);
    coverage.arrive([place(2)], 25, Some(seen(8)));
    coverage.forget([(7, Version(30))], 3);
    let after = again(&coverage, &found(25));
    assert_eq!(mark(&after, 1), Some((20, Some(seen(6)))));
    assert_eq!(mark(&after, 2), Some((25, Some(seen(8)))));
    assert_eq!(after.of(place(3)), Serves::Away);
    assert_eq!(after.forgotten(7), Version(31));
    assert_eq!(after.since, coverage.since);
}

#[test]
fn of_a_log_that_is_doubted_or_ends_before_a_mark_nothing_is_known() {
    let mut coverage = Coverage::begin(None, &found(0));
    coverage.open();
    coverage.close(20, Some(seen(6)));
    let shorter = again(&coverage, &found(19));
    assert_eq!(mark(&shorter, 1), Some((19, None)));
    let doubted = Found {
        is_doubted: true,
        incarnation: 8,
        ..found(30)
    };
    let doubted = again(&coverage, &doubted);
    assert_eq!(mark(&doubted, 1), Some((30, None)));
    assert_eq!((doubted.since, doubted.forgotten(7)), (8, Version(99)));
}

#[test]
fn what_arrives_is_served_behind_its_mark_and_only_what_was_away_arrives() {
    let mut coverage = Coverage::begin(None, &found(0));
    assert!(coverage.leave([place(2)]));
    assert!(!coverage.leave([place(2)]));
    assert!(coverage.arrive([place(1), place(2)], 25, None));
    assert!(!coverage.arrive([place(2)], 30, None));
    assert_eq!(mark(&coverage, 1), Some((0, Some(Vector::new()))));
    assert_eq!(mark(&coverage, 2), Some((25, None)));
    coverage.open();
    coverage.close(40, Some(seen(6)));
    assert_eq!(mark(&coverage, 2), Some((40, Some(seen(6)))));
}

#[test]
fn deletes_are_noted_before_they_are_forgotten_and_seldom() {
    let mut coverage = Coverage::begin(None, &found(0));
    coverage.forgotten_all = Version(0);
    assert!(coverage.forget([(7, Version(10))], 15));
    assert!(!coverage.forget([(7, Version(15))], 15));
    assert!(coverage.forget([(7, Version(16))], 15));
    assert_eq!(coverage.forgotten(7), Version(31));
    coverage.came_without(Version(40));
    assert_eq!(
        (coverage.forgotten(7), coverage.forgotten(8)),
        (Version(40), Version(40))
    );
}
