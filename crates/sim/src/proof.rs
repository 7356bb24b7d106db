//! Proof that the judge sees: each deliberate bug, found by values alone, in ten ranges of seeds.

use dunlin_node::Sabotage;

use crate::harness::cluster::HarnessError;
use crate::links::{self, LinkPlan};
use crate::plan::Plan;
use crate::run::{play, run};

/// Ranges of seeds in which a bug must be found.
pub const RANGES: u64 = 10;
/// Seeds in a range.
pub const SEEDS: u64 = 500;

/// Where a bug was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The seed.
    pub seed: u64,
    /// Runs it took, of those whose circumstances the bug needs.
    pub runs: u64,
    /// The failure's first line.
    pub line: String,
}

/// Whether the run of a seed has the circumstances in which its deliberate bug matters.
pub fn tempts(seed: u64, sabotage: Sabotage) -> bool {
    if sabotage.is_of_links() {
        LinkPlan::new(seed, sabotage).tempts()
    } else {
        Plan::new(seed, sabotage).tempts()
    }
}

/// Looks for a deliberate bug among the seeds from `first` on, `seeds` of them: for a value that a
/// client was told and must not have been, and is not in the same run without the bug. Runs in which
/// something does not come to an end count for nothing.
///
/// # Errors
/// When the harness fails.
pub fn find(sabotage: Sabotage, first: u64, seeds: u64) -> Result<Option<Found>, HarnessError> {
    let mut runs = 0;
    for seed in first..first + seeds {
        if !tempts(seed, sabotage) {
            continue;
        }
        runs += 1;
        let verdict = run(seed, sabotage)?;
        if let Some(failure) = verdict.failure
            && verdict.is_by_value
            && !breaks_without(seed, sabotage)?
        {
            let line = failure.lines().next().unwrap_or_default().to_owned();
            return Ok(Some(Found { seed, runs, line }));
        }
    }
    Ok(None)
}

/// Whether the run shows a wrong value without any bug, judged in the same way.
fn breaks_without(seed: u64, sabotage: Sabotage) -> Result<bool, HarnessError> {
    if sabotage.is_of_links() {
        return Ok(links::run(seed, Sabotage::None)?.failure.is_some());
    }
    let mut plan = Plan::new(seed, Sabotage::None);
    plan.values_only = true;
    Ok(play(plan)?.is_by_value)
}
