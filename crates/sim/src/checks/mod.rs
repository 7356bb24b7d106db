//! The promises, checked: against the history of a run, and against what the stores hold after it.

mod converged;
mod fresh;
mod order;

pub use converged::converged;
pub use fresh::fresh;
pub use order::order;

use crate::history::{Moment, Place};

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

#[cfg(test)]
#[path = "meets_tests.rs"]
mod tests;
