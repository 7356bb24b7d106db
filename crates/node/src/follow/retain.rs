//! Which segments of a log may go. Pure.

use dunlin_log::{Index, SegmentInfo};
use dunlin_metadata::Retention;

/// What counts of a segment here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    pub first_index: Index,
    pub last_index: Index,
    pub bytes: u64,
}

impl Segment {
    /// Of the log's own account.
    pub fn of(segment: &SegmentInfo) -> Segment {
        Segment {
            first_index: segment.first_index,
            last_index: segment.last_index,
            bytes: segment.bytes,
        }
    }
}

/// How much is kept for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Caps {
    /// For replicas.
    pub retention_bytes: u64,
    /// Beyond that for pins.
    pub pins_bytes: u64,
}

/// The first record of what a keyspace's retention keeps at least; `None` where it asks for nothing. Of each
/// segment `ended_ms` tells by when it was written to its end; 0 where nobody knows.
pub(crate) fn kept_at_least(
    segments: &[Segment],
    ended_ms: &[u64],
    now_ms: u64,
    retention: &Retention,
) -> Option<Index> {
    let by_bytes = retention.min_bytes.filter(|bytes| *bytes > 0);
    let by_bytes = by_bytes.and_then(|bytes| {
        let mut kept: u64 = 0;
        let reaches = |segment: &&Segment| {
            kept = kept.saturating_add(segment.bytes);
            kept >= bytes
        };
        let first = segments.iter().rev().find(reaches).or(segments.first());
        first.map(|segment| segment.first_index)
    });
    let by_age = retention.min_age_s.filter(|age_s| *age_s > 0);
    let by_age = by_age.and_then(|age_s| {
        let since_ms = now_ms.saturating_sub(age_s.saturating_mul(1_000));
        first_since(segments, ended_ms, since_ms)
    });
    by_bytes.into_iter().chain(by_age).min()
}

/// The first record that a keyspace's followers may hold back; `None` where that is not bounded.
pub(crate) fn kept_at_most(
    segments: &[Segment],
    ended_ms: &[u64],
    now_ms: u64,
    retention: &Retention,
) -> Option<Index> {
    let last = segments.last()?;
    let by_bytes = retention.max_bytes.map(|bytes| {
        let mut kept: u64 = 0;
        let is_within = |segment: &&Segment| {
            kept = kept.saturating_add(segment.bytes);
            kept <= bytes
        };
        let within = segments.iter().rev().take_while(is_within).last();
        within.unwrap_or(last).first_index
    });
    let by_age = retention.max_age_s.and_then(|age_s| {
        let since_ms = now_ms.saturating_sub(age_s.saturating_mul(1_000));
        first_since(segments, ended_ms, since_ms)
    });
    by_bytes.into_iter().chain(by_age).max()
}

/// The first record of what was written since; the last segment still is.
fn first_since(segments: &[Segment], ended_ms: &[u64], since_ms: u64) -> Option<Index> {
    let last = segments.last().map(|segment| segment.first_index);
    let mut ended = segments.iter().zip(ended_ms);
    let since = ended.find(|(_, ended_ms)| **ended_ms >= since_ms);
    since.map(|(segment, _)| segment.first_index).or(last)
}

/// Up to where the log may go, from its beginning: what is flushed, and needed by nobody or beyond what
/// is kept for those who need it. `is_needed` tells whether a replica needs the segment of that number.
/// What stands behind `least` stays, whoever needs it, up to both caps: no keyspace may fill the disk.
pub(crate) fn released(
    segments: &[Segment],
    flushed: Index,
    least: Option<Index>,
    pinned: Option<Index>,
    caps: Caps,
    is_needed: impl Fn(usize) -> bool,
) -> Option<Index> {
    let mut left: u64 = segments.iter().map(|s| s.bytes).sum();
    let mut before = None;
    for (number, pair) in segments.windows(2).enumerate() {
        let (segment, next) = (&pair[0], &pair[1]);
        if segment.last_index > flushed {
            break;
        }
        let stands_behind = |from: Index| from <= segment.last_index;
        let is_pinned = pinned.is_some_and(stands_behind) || least.is_some_and(stands_behind);
        let pins_bytes = if is_pinned { caps.pins_bytes } else { 0 };
        let is_within = left <= caps.retention_bytes.saturating_add(pins_bytes);
        if is_within && (is_pinned || is_needed(number)) {
            break;
        }
        left = left.saturating_sub(segment.bytes);
        before = Some(next.first_index);
    }
    before
}

#[cfg(test)]
#[path = "retain_tests.rs"]
mod tests;
