#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::cluster::Sync;
use crate::moves::plan::Condition;
use crate::moves::samples::run;

fn case(pacing: Pacing, runs: Vec<crate::moves::run::Run>) -> Case {
    let sync = Sync::Never;
    Case::of(Condition { sync, pacing }, runs)
}

fn met(targets: &[Target], what: &str) -> Option<bool> {
    let mut found = targets.iter().filter(|target| target.what.contains(what));
    let target = found.next().unwrap_or_else(|| panic!("no target {what}"));
    assert!(found.next().is_none(), "{what} twice");
    target.met
}

#[test]
fn the_bound_holds_for_each_step_and_only_where_there_is_one() {
    let bounded = case(Pacing::Bounded, vec![run([90, 20, 90, 21, 90], 0)]);
    let unbounded = case(Pacing::Unbounded, vec![run([5, 400, 5, 400, 5], 0)]);
    let targets = evaluate(&[bounded, unbounded]);
    assert_eq!(met(&targets, "p99 during add n4"), Some(true));
    assert_eq!(met(&targets, "p99 during drain n1"), Some(false));
    assert_eq!(
        met(&targets, "clients, bounded, sync never: requests"),
        Some(true)
    );
    assert_eq!(
        met(&targets, "clients, not bounded, sync never: requests"),
        Some(true)
    );
    assert_eq!(met(&targets, "keys after two moves"), Some(true));
}

#[test]
fn one_failed_request_and_one_copy_too_many_are_told() {
    let mut bad = run([5, 5, 5, 5, 5], 1);
    bad.verified.copies_by_node[3].1 = 1;
    let targets = evaluate(&[case(Pacing::Bounded, vec![bad])]);
    assert_eq!(met(&targets, "requests that failed"), Some(false));
    assert_eq!(met(&targets, "keys after two moves"), Some(false));
    assert_eq!(met(&evaluate(&[]), "keys after two moves"), None);
}
