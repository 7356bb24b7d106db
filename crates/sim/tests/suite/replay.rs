//! A seed is a run: the same one twice takes the same steps.

use dunlin_sim::{Sabotage, run, run_twice};

#[test]
fn the_same_seed_is_the_same_run() {
    for seed in [3, 8, 21] {
        let verdict = run_twice(seed, Sabotage::None).unwrap();
        assert_eq!(verdict.failure, None);
    }
}

#[test]
fn different_seeds_are_different_runs() {
    let first = run(101, Sabotage::None).unwrap();
    let second = run(102, Sabotage::None).unwrap();
    assert_ne!(first.trace_hash, second.trace_hash);
}
