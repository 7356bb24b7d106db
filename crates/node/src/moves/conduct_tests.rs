#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

fn shard(node: u16) -> ShardAddress {
    ShardAddress { node, shard: 0 }
}

fn change(phase: Phase) -> Change {
    Change {
        id: 7,
        to: vec![1, 2],
        dead: Vec::new(),
        phase,
    }
}

fn state(phase: Phase) -> MoveState {
    MoveState {
        shard: "n/0".into(),
        change: 7,
        phase: Some(phase),
        filled: false,
        caught_up: false,
        level: false,
        marks: Vec::new(),
        of_dead: Vec::new(),
        widths: Vec::new(),
        parts: 0,
        parts_done: 0,
        records: 0,
        bytes: 0,
        bytes_per_s: 0,
        bytes_per_s_max: 0,
        latency_us_p99: 0,
    }
}

fn waits(phase: Phase, states: &[MoveState]) -> usize {
    let shards = [shard(1), shard(2)];
    let told = shards.iter().copied().zip(states.iter().cloned()).collect();
    waits_for(&change(phase), &shards, &told).len()
}

#[test]
fn a_phase_waits_for_everybody_to_act_by_it() {
    let act = state(Phase::Settle);
    assert_eq!(waits(Phase::Settle, &[act.clone(), act.clone()]), 0);
    assert_eq!(
        waits(Phase::Settle, std::slice::from_ref(&act)),
        1,
        "one is silent"
    );
    assert_eq!(
        waits(Phase::Settle, &[act.clone(), state(Phase::Switch)]),
        1
    );
    let other = MoveState {
        change: 6,
        ..act.clone()
    };
    assert_eq!(waits(Phase::Settle, &[act.clone(), other]), 1);
    let resting = MoveState {
        phase: None,
        ..act.clone()
    };
    assert_eq!(waits(Phase::Settle, &[act, resting]), 1);
}

#[test]
fn data_must_be_there_before_anyone_relies_on_it() {
    let filled = MoveState {
        filled: true,
        ..state(Phase::Copy)
    };
    assert_eq!(waits(Phase::Copy, &[filled.clone(), filled.clone()]), 0);
    assert_eq!(waits(Phase::Copy, &[filled, state(Phase::Copy)]), 1);
    let joint = MoveState {
        filled: true,
        ..state(Phase::Joint)
    };
    let whole = MoveState {
        caught_up: true,
        ..joint.clone()
    };
    assert_eq!(waits(Phase::Joint, &[whole.clone(), whole.clone()]), 0);
    assert_eq!(waits(Phase::Joint, &[whole, joint]), 1);
    let switched = state(Phase::Switch);
    let level = MoveState {
        level: true,
        ..switched.clone()
    };
    assert_eq!(waits(Phase::Switch, &[level.clone(), level.clone()]), 0);
    assert_eq!(waits(Phase::Switch, &[level, switched]), 1);
}
