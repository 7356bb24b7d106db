//! Runs of deleted keys that reads have passed by: once nobody reads below the deletes, they are removed. A queue whose
//! jobs are put and deleted has such a run at its head, and each look at the head would pass by all of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use dunlin_entry::Version;

/// A read that has passed by so many rows has its run noted.
pub(crate) const PASSED_MIN: usize = 10_000;
/// Runs that are noted in a place.
const RUNS_MAX: usize = 16;
/// Runs by place.
pub(crate) type Worn = Arc<Mutex<BTreeMap<u32, Vec<Run>>>>;

/// Rows from the first to before the second, with many deletes among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub from: Vec<u8>,
    pub to: Vec<u8>,
    /// The newest delete.
    pub newest: Version,
    /// Tried when versions are kept from here on, in milliseconds.
    pub try_at_ms: u64,
}

impl Run {
    /// Whether deletes of it may go, where versions are kept from here on, in milliseconds.
    pub fn is_due(&self, kept_from_ms: Option<&u64>) -> bool {
        kept_from_ms >= Some(&self.try_at_ms)
    }
}

/// Adds a run to those of a place: it becomes one with those that it overlaps.
pub(crate) fn add(runs: &mut Vec<Run>, mut run: Run) {
    let overlaps = |other: &Run| other.from <= run.to && run.from <= other.to;
    let (joined, mut others): (Vec<Run>, Vec<Run>) = runs.drain(..).partition(overlaps);
    for other in joined {
        run.from = run.from.min(other.from);
        run.to = run.to.max(other.to);
        run.newest = run.newest.max(other.newest);
        // One that was just tried is not tried again for each read.
        run.try_at_ms = run.try_at_ms.max(other.try_at_ms);
    }
    if others.len() < RUNS_MAX {
        others.push(run);
    }
    *runs = others;
}

#[cfg(test)]
#[path = "worn_tests.rs"]
mod tests;
