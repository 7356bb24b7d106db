//! Connections that did not open: which to tell of, and how often. Whoever causes one can cause any
//! number, so each kind is told of now and then. Pure.
use crate::counts::Outcome;
use std::time::{Duration, Instant};

/// No two of one kind are told of within this.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// Those of one listener.
#[derive(Debug, Default)]
pub struct Strangers([Kind; Outcome::ALL.len()]);

#[derive(Debug, Default)]
struct Kind {
    told: Option<Instant>,
    untold: u64,
}

impl Strangers {
    /// One did not open: how many there were since this kind was last told of, if it is time to tell.
    pub fn came(&mut self, outcome: Outcome, now: Instant) -> Option<u64> {
        let kind = &mut self.0[outcome as usize];
        kind.untold += 1;
        let is_due = kind.told.is_none_or(|told| now - told >= TELL_EVERY);
        is_due.then(|| {
            kind.told = Some(now);
            std::mem::take(&mut kind.untold)
        })
    }
}

#[cfg(test)]
#[path = "strangers_tests.rs"]
mod tests;
