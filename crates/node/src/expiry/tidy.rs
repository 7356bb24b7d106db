//! When the list of expiries is gone through for names that stand for nothing. Pure.

use std::time::Duration;

use tokio::time::Instant;

/// So many are not worth the work.
const NAMES_LEAST: u64 = 100_000;
/// Names of what was dropped or moved away go within this.
const INTERVAL: Duration = Duration::from_secs(24 * 3_600);

/// What the last time found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tidy {
    standing: u64,
    at: Option<Instant>,
}

impl Tidy {
    /// The list was gone through, and so many names stood for a value.
    pub fn done(standing: u64, at: Instant) -> Tidy {
        let at = Some(at);
        Tidy { standing, at }
    }

    /// Whether it is time again, with so many names on the list. As it is gone through when it has
    /// doubled, each name that is put on it costs few looks, and it is never much longer than that.
    pub fn is_due(&self, names: u64, now: Instant) -> bool {
        let is_long = names > NAMES_LEAST.saturating_add(self.standing.saturating_mul(2));
        let is_old = self.at.is_some_and(|at| now.duration_since(at) >= INTERVAL);
        is_long || is_old && names > 0
    }
}

#[cfg(test)]
#[path = "tidy_tests.rs"]
mod tests;
