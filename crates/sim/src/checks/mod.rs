//! The promises, checked: by what clients saw and when, and by what the stores hold afterwards.
//! Nothing here believes a stamp.

mod conditions;
mod converged;
mod ended;
mod equal;
mod fresh;
mod key;
mod linear;
mod lost;
mod ranges;
mod shown;
mod views;
mod written;

use std::fmt;
use std::ops::AddAssign;

pub use converged::{converged, held_now};
pub use linear::operations;
pub use ranges::{ranges, replicas, timestamps, whole};
pub use shown::shown;
pub use views::views;

use crate::history::{History, Moment, Place};
use crate::plan::Plan;
use key::KeyHistory;

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Broken {
    /// What happened, in words.
    pub text: String,
    /// The key concerned, if one is.
    pub place: Option<Place>,
    /// When, if it was not at the end.
    pub at: Option<Moment>,
}

/// How much was judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checked {
    /// Reads that were judged.
    pub reads: u64,
    /// Of these, reads of which less was asked than usual because a fault may have taken a write.
    pub exempt: u64,
    /// Operations judged together, as those of one register.
    pub linear: u64,
    /// Operations of keys that are no registers where a fault may have taken a write.
    pub linear_exempt: u64,
    /// Keys that are registers only if a write under way may be seen, overwritten, and seen again.
    pub again: u64,
    /// Operations of keys for which that took too long.
    pub undecided: u64,
    /// Writes of clients of linked clusters.
    pub linked: u64,
    /// Batches with entries that these sent one another.
    pub batches: u64,
    /// Comparisons of linked clusters.
    pub comparisons: u64,
}

impl AddAssign for Checked {
    fn add_assign(&mut self, other: Checked) {
        self.reads += other.reads;
        self.exempt += other.exempt;
        self.linear += other.linear;
        self.linear_exempt += other.linear_exempt;
        self.again += other.again;
        self.undecided += other.undecided;
        self.linked += other.linked;
        self.batches += other.batches;
        self.comparisons += other.comparisons;
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |part: u64, all: u64| 100.0 * part as f64 / all.max(1) as f64;
        write!(
            f,
            "{} reads judged, {} exempt ({:.2} %), {} operations as one register, {} exempt ({:.2} %), {} undecided, {} keys with writes stamped again, {} writes to linked clusters in {} batches, {} comparisons of them",
            self.reads,
            self.exempt,
            share(self.exempt, self.reads),
            self.linear,
            self.linear_exempt,
            share(self.linear_exempt, self.linear + self.linear_exempt),
            self.undecided,
            self.again,
            self.linked,
            self.batches,
            self.comparisons
        )
    }
}

/// Judges a run's history.
///
/// # Errors
/// The first promise that was broken.
pub fn judge(plan: &Plan, history: &History) -> Result<Checked, Broken> {
    let mut checked = Checked::default();
    for keyspace in 0..plan.keyspaces.len() {
        let keys = KeyHistory::all(plan, history, keyspace);
        for key in &keys {
            written::written(history, key)?;
            ended::ended(key)?;
            equal::equal(plan, key)?;
            checked += fresh::fresh(history, key)?;
            conditions::held(key)?;
        }
        checked += linear::linear(plan, &keys)?;
    }
    Ok(checked)
}

/// How many of `set` replicas surely hold what `ack` of the first `from` acknowledged.
fn holders_within(set: u8, ack: u8, from: u8) -> u8 {
    ack.saturating_sub(from.saturating_sub(set))
}

/// Whether any `ack` of the first `from` replicas meet one that acknowledged the other.
fn meets(ack: u8, from: u8, other_ack: u8, other_from: u8) -> bool {
    ack + holders_within(from, other_ack, other_from) > from
}

#[cfg(test)]
#[path = "meets_tests.rs"]
mod tests;
