//! The promises, checked: against the history of a run, and against what the stores hold after it.

mod converged;
mod fresh;
mod order;

pub use converged::{converged, held_now};
pub use fresh::fresh;
pub use order::order;

use crate::history::{History, Moment, Place, Write};
use crate::plan::Plan;

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

/// How many of `set` replicas surely hold what `ack` of the first `from` acknowledged.
fn holders_within(set: u8, ack: u8, from: u8) -> u8 {
    ack.saturating_sub(from.saturating_sub(set))
}

/// Whether any `ack` of the first `from` replicas meet one that acknowledged the other.
fn meets(ack: u8, from: u8, other_ack: u8, other_from: u8) -> bool {
    ack + holders_within(from, other_ack, other_from) > from
}

/// Whether a newer write with a smaller `from` may have taken the place of `write` where both were
/// held, to go from there when the members changed: then nobody need know of either (decision 19).
fn may_be_hidden(plan: &Plan, history: &History, write: &Write) -> bool {
    // Deletes go to all of a keyspace's replicas.
    let from = |w: &Write| if w.delete { w.from.max(3) } else { w.from };
    plan.moves
        && history.writes.iter().any(|other| {
            other.place == write.place
                && from(other) < from(write)
                && other
                    .stamp()
                    .is_none_or(|stamp| Some(stamp) > write.stamp())
        })
}

/// Whether a write was acknowledged by so few that a node lost for good may have been all of them.
fn may_be_buried(plan: &Plan, write: &Write) -> bool {
    plan.buries && write.ack < 2
}

#[cfg(test)]
#[path = "meets_tests.rs"]
mod tests;
