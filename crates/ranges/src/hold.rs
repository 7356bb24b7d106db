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

/// A replica that has caught up misses no more entries than this.
const CAUGHT_UP: u64 = 256;
/// Once half of it is held, the rest would last for so long, and longer with each tick.
const COPY_SECONDS: usize = 16;
/// Bytes a second that may always be added.
const LEAST_BYTES: usize = 1 << 20;
/// Pauses before another copy.
const PAUSE_MIN: Duration = Duration::from_secs(2);
const PAUSE_MAX: Duration = Duration::from_secs(64);

/// A copy that a replica gets, or got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Copied {
    /// The last entry in it.
    pub index: u64,
    /// When it was complete, or broke off; none while it is sent.
    pub ended: Option<Instant>,
}

/// The index behind which entries stay in memory: by the copies of replicas, and the last entries that these are known to
/// have, of a log that ends with the entry `last`. Copies that are not needed any more go.
pub(crate) fn hold_from(
    copies: &mut BTreeMap<u64, Copied>,
    now: Instant,
    last: u64,
    matched: impl Fn(u64) -> Option<u64>,
) -> Option<u64> {
    copies.retain(|id, copy| is_needed(copy, now, last, matched(*id)));
    let from = copies.iter().map(|(id, copy)| match copy.ended {
        None => copy.index,
        Some(_) => copy.index.max(matched(*id).unwrap_or(0)),
    });
    from.min()
}

/// Whether a replica still needs the entries behind its copy. None of them is known of a replica that was removed.
fn is_needed(copy: &Copied, now: Instant, last: u64, matched: Option<u64>) -> bool {
    match copy.ended {
        None => true,
        Some(ended) => {
            let lags = |matched: u64| matched <= copy.index || last > matched + CAUGHT_UP;
            now < ended + HOLD && matched.is_some_and(lags)
        }
    }
}

/// Bytes of entries that may be added within a tick of 100 ms while so many are held for copies, of the most that may be:
/// any number up to the half of it, then the fewer the nearer it is. None where it is reached: nothing is held then.
pub(crate) fn allowance(held: usize, most: usize) -> Option<usize> {
    let left = most.checked_sub(held)?;
    if left >= most / 2 {
        return Some(usize::MAX);
    }
    let ticks_of_copy = 10 * COPY_SECONDS;
    Some((left / ticks_of_copy).max(LEAST_BYTES / 10))
}

/// The pause before the next copy, after one that the writes of clients were too fast for.
pub(crate) fn next_pause(before: Duration) -> Duration {
    (2 * before).clamp(PAUSE_MIN, PAUSE_MAX)
}

/// Bytes of entries that each of so many ranges may hold.
pub(crate) fn hold_bytes(ranges: usize) -> usize {
    RANGE_BYTES.min(SHARD_BYTES / ranges.max(1))
}

#[cfg(test)]
#[path = "hold_tests.rs"]
mod tests;
