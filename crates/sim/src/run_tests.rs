//! Runs that no seed draws.
#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

/// More shards than a bit each of a word can name.
#[test]
fn sixteen_nodes_of_eight_shards_keep_their_promises() {
    let mut plan = Plan::new(3, Sabotage::None);
    plan.nodes = 16;
    plan.members = 16;
    plan.shards = 8;
    plan.moves = false;
    plan.buries = false;
    plan.twins = false;
    plan.relapses = false;
    plan.clients = 8;
    plan.keys = 48;
    plan.chaos_ms = 6_000;
    let verdict = play(plan).unwrap();
    assert_eq!(verdict.failure, None);
    assert!(verdict.counts.crashes > 0, "{}", verdict.counts);
    assert!(verdict.checked.linear > 500, "{}", verdict.checked);
}
