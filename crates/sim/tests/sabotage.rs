//! Proof that the simulation can fail: it finds each deliberate bug.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use dunlin_sim::{Plan, Sabotage, run};

/// Seeds within which a bug must be found, of those in which it matters.
const SEEDS: usize = 60;

fn is_found(sabotage: Sabotage) {
    let tempting = (1..).filter(|seed| Plan::new(*seed, sabotage).tempts());
    for seed in tempting.take(SEEDS) {
        if let Some(failure) = run(seed, sabotage).unwrap().failure {
            let first_line = failure.lines().next().unwrap_or_default();
            println!("{sabotage:?}: {first_line}");
            assert!(failure.contains(&format!("--seed {seed} --sabotage {sabotage:?}")));
            return;
        }
    }
    panic!("{sabotage:?} is not found within {SEEDS} seeds");
}

#[test]
fn acknowledging_before_the_sync_is_found() {
    is_found(Sabotage::AckUnsynced);
}

#[test]
fn ignoring_gaps_is_found() {
    is_found(Sabotage::IgnoreGaps);
}

#[test]
fn not_stamping_again_is_found() {
    is_found(Sabotage::NoRestamp);
}

#[test]
fn taking_the_first_answer_is_found() {
    is_found(Sabotage::FirstAnswer);
}

#[test]
fn forgetting_tombstones_is_found() {
    is_found(Sabotage::ForgetTombstones);
}

#[test]
fn flushing_before_the_sync_is_found() {
    is_found(Sabotage::FlushUnsynced);
}

#[test]
fn a_new_replica_without_the_newest_is_found() {
    is_found(Sabotage::SkipTail);
}

#[test]
fn writing_to_old_replicas_alone_is_found() {
    is_found(Sabotage::SkipJoint);
}
