//! When people are told that a peer is away. Pure.

use std::time::Duration;

use tokio::time::Instant;

/// Nodes that start together, and one that restarts, find one another before it is over.
const PATIENCE: Duration = Duration::from_secs(3);

/// A time without a connection.
#[derive(Debug, Default)]
pub(crate) struct Outage {
    since: Option<Instant>,
    is_told: bool,
}

impl Outage {
    /// There is a connection.
    pub fn is_over(&mut self) {
        *self = Outage::default();
    }

    /// There is none: whether to say so, which is done once.
    pub fn lasts(&mut self, now: Instant) -> bool {
        let since = *self.since.get_or_insert(now);
        let is_time = !self.is_told && now.duration_since(since) >= PATIENCE;
        self.is_told |= is_time;
        is_time
    }
}

#[cfg(test)]
#[path = "outage_tests.rs"]
mod tests;
