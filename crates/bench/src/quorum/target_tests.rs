#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::load::http::{ONE_COPY, THREE_COPIES};
use crate::report::samples::{cell, group_commit};

fn idle(resident_bytes: u64) -> Idle {
    Idle {
        resident_bytes_at_start: 0,
        resident_bytes,
    }
}

fn met(targets: &[Target], part: &str) -> Option<bool> {
    targets
        .iter()
        .find(|target| target.what.contains(part))
        .unwrap()
        .met
}

#[test]
fn each_target_is_met_at_its_limit_and_missed_below_it() {
    let cells = |put: f64, cpu: f64| {
        [
            cell(Verb::Put, ONE_COPY, 33_333.0, 10.0),
            cell(Verb::Put, THREE_COPIES, put, cpu),
        ]
    };
    // The sample run adds 1 us of deferred CPU; three replicas work on a put.
    let good = evaluate(
        &cells(20_000.0, 51.0),
        &idle(249_999_999),
        &[group_commit(64, Some(2.1))],
    );
    assert_eq!(good.len(), 5);
    assert!(
        good.iter().all(|target| target.met == Some(true)),
        "{good:#?}"
    );
    let bad = evaluate(
        &cells(19_999.0, 51.6),
        &idle(250_000_000),
        &[group_commit(64, Some(2.0))],
    );
    assert!(
        bad.iter().all(|target| target.met == Some(false)),
        "{bad:#?}"
    );
}

#[test]
fn an_unconfirmed_rate_is_not_met_and_what_is_missing_is_not_judged() {
    let mut replicated = cell(Verb::Get, THREE_COPIES, 40_000.0, 20.0);
    replicated.confirmed = false;
    let targets = evaluate(&[replicated], &idle(1), &[group_commit(4, Some(9.0))]);
    assert_eq!(met(&targets, "95 %"), Some(false));
    assert_eq!(met(&targets, "over that of 1 copy"), None);
    assert_eq!(met(&targets, "share a sync"), None);
}

#[test]
fn a_read_costs_the_replicas_that_are_asked() {
    let targets = evaluate(&[cell(Verb::Get, THREE_COPIES, 1.0, 24.0)], &idle(1), &[]);
    let cpu = targets
        .iter()
        .find(|target| target.what.contains("CPU"))
        .unwrap();
    assert_eq!((cpu.measured.as_str(), cpu.met), ("12.5 us", Some(true)));
}
