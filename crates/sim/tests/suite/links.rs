//! Linked clusters: all that is written arrives, and comparisons say so, and nothing else.

use dunlin_sim::{Sabotage, run_linked};

#[test]
fn comparisons_under_writes_and_faults_find_no_difference() {
    // In 12, a node reads a partition at another shard when its stream begins.
    for seed in [2, 12] {
        let outcome = run_linked(seed, Sabotage::None).unwrap();
        if let Some(failure) = outcome.failure {
            panic!("{failure}");
        }
        assert!(outcome.checked.comparisons > 0, "{}", outcome.checked);
    }
}

#[test]
fn a_comparison_that_does_not_wait_for_the_link_is_found() {
    let outcome = run_linked(2, Sabotage::VerifyEarly).unwrap();
    let failure = outcome.failure.expect("the seed finds the bug");
    assert!(failure.contains("MissingThere"), "{failure}");
}
