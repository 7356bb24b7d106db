//! Which segments of a log may go. Pure.

use dunlin_log::{Index, SegmentInfo};

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

/// Up to where the log may go, from its beginning: what is flushed, and needed by nobody or beyond what
/// is kept for those who need it. `is_needed` tells whether a replica needs the segment of that number.
pub(crate) fn released(
    segments: &[Segment],
    flushed: Index,
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
        let is_pinned = pinned.is_some_and(|from| from <= segment.last_index);
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
