//! Where in the log a version of an origin stands. Segments begin with the
//! vector, so a version finds its segment without an index.

use dunlin_entry::{Origin, Version};
use dunlin_log::{Index, SegmentInfo};

use super::Replication;
use crate::shard::vector_of;

/// The first record to look at for entries of `origin` after `after`; `None`
/// when the log no longer reaches back that far.
pub(crate) fn start_of(segments: &[SegmentInfo], origin: Origin, after: Version) -> Option<Index> {
    segments
        .iter()
        .rev()
        .find(|s| vector_of(&s.preamble).is_some_and(|v| v.get(origin) <= after))
        .map(|s| s.first_index)
}

impl Replication {
    /// See [`start_of`], for this shard's log.
    pub(crate) fn find_in_log(&self, origin: Origin, after: Version) -> Option<Index> {
        start_of(&self.shard.segments(), origin, after)
    }
}
