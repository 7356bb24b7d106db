//! Which entries of a range's log stay in memory for replicas that get a copy of the range: those behind the copy, so
//! that one copy is enough. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// Entries are held for so long behind the end of a copy.
const HOLD: Duration = Duration::from_secs(600);
/// A range holds no more bytes of entries than this.
pub(crate) const RANGE_BYTES: usize = 64 << 20;
/// Nor do all ranges of a shard.
pub(crate) const SHARD_BYTES: usize = 256 << 20;

/// A copy that a replica gets, or got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Copied {
    /// The last entry in it.
    pub index: u64,
    /// When it was complete, or broke off; none while it is sent.
    pub ended: Option<Instant>,
}

/// The index behind which entries stay in memory: by the copies of replicas, and the last entries that these are known to
/// have. Copies that are not needed any more go.
pub(crate) fn hold_from(
    copies: &mut BTreeMap<u64, Copied>,
    now: Instant,
    matched: impl Fn(u64) -> Option<u64>,
) -> Option<u64> {
    copies.retain(|id, copy| is_needed(copy, now, matched(*id)));
    copies.values().map(|copy| copy.index).min()
}

/// Whether a replica still needs the entries behind its copy. None of them is known of a replica that was removed.
fn is_needed(copy: &Copied, now: Instant, matched: Option<u64>) -> bool {
    match copy.ended {
        None => true,
        // Once it takes entries they are kept as for any other replica.
        Some(ended) => now < ended + HOLD && matched.is_some_and(|matched| matched <= copy.index),
    }
}

/// Bytes of entries that each of so many ranges may hold.
pub(crate) fn hold_bytes(ranges: usize) -> usize {
    RANGE_BYTES.min(SHARD_BYTES / ranges.max(1))
}

#[cfg(test)]
#[path = "hold_tests.rs"]
mod tests;
