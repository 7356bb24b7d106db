//! Whether a log is still the one that a token is of, or its directory was put back to an earlier state. Pure.

use std::cmp::Ordering;

use dunlin_log::Index;
use dunlin_proto::Hint;

/// A shard's log, and its starts before this one.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogNow {
    pub incarnation: u32,
    /// The start since which the log is one.
    pub since: u32,
    /// Its last record when this start found it.
    pub opened_at: Index,
    /// Its last record.
    pub last: Index,
}

impl LogNow {
    /// It is still the log that a hint is of, up to there.
    pub fn is_kept(self, hint: Hint) -> bool {
        match hint.incarnation.cmp(&self.incarnation) {
            Ordering::Greater => false,
            Ordering::Equal => true,
            Ordering::Less => hint.incarnation >= self.since && hint.index <= self.opened_at,
        }
    }

    /// The records up to a hint were on disk, and are not there.
    pub fn was_put_back(self, hint: Hint) -> bool {
        match hint.incarnation.cmp(&self.incarnation) {
            Ordering::Greater => true,
            Ordering::Equal => hint.index > self.last,
            Ordering::Less => hint.incarnation >= self.since && hint.index > self.opened_at,
        }
    }
}

#[cfg(test)]
#[path = "put_back_tests.rs"]
mod tests;
