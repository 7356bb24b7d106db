//! What the front knows.

use super::{stats::Counters, tail::Tail};
use crate::{
    Index,
    error::{Failure, Lack},
    segment::SegmentInfo,
    writer::{Item, Writer},
};
use std::collections::VecDeque;

pub(crate) struct State {
    pub last: Index,
    pub written: Index,
    pub synced: Index,
    /// Oldest first; the last is the one records are appended to.
    pub segments: VecDeque<SegmentInfo>,
    pub tail: Tail,
    /// Accepted, not yet handed to the writer.
    pub queue: Vec<Item>,
    /// Payload bytes of the queue.
    pub queue_bytes: usize,
    /// Payload bytes the writer has and has not reported written.
    pub handed_bytes: usize,
    /// Estimated physical bytes of the active segment, with what is not yet written.
    pub active_bytes: u64,
    /// The part of `active_bytes` that is still in the queue.
    pub queued_bytes: u64,
    /// The next group is to be synced.
    pub sync_wanted: bool,
    /// The writer has accepted something it could not finish, for a lack.
    pub blocked: bool,
    /// The active segment was begun with direct I/O.
    pub direct_io: bool,
    /// What another segment cannot be made for the lack of, as far as known.
    pub lack: Option<Lack>,
    pub spares: usize,
    /// A mark is to be written when nothing else is for a while.
    pub mark_due: bool,
    /// Segments released that the writer does not know of yet, oldest first.
    pub released: Vec<u64>,
    /// The writer has not done with others yet.
    pub retiring: bool,
    /// Segments below this index may go.
    pub release_before: Index,
    pub failed: Option<Failure>,
    pub closing: bool,
    pub closed: bool,
    /// Absent while a job has it.
    pub writer: Option<Box<Writer>>,
    pub driving: bool,
    pub counters: Counters,
}

impl State {
    pub(crate) fn new(writer: Writer, segments: Vec<SegmentInfo>) -> State {
        let last = segments.last().map_or(0, |segment| segment.last_index);
        State {
            last,
            written: last,
            synced: last,
            active_bytes: segments.last().map_or(0, |segment| segment.bytes),
            mark_due: !segments.is_empty(),
            direct_io: segments
                .last()
                .is_some_and(|segment| segment.settings.direct_io),
            segments: segments.into(),
            tail: Tail::new(last + 1),
            queue: Vec::new(),
            queue_bytes: 0,
            handed_bytes: 0,
            queued_bytes: 0,
            sync_wanted: false,
            blocked: false,
            lack: None,
            spares: 0,
            released: Vec::new(),
            retiring: false,
            release_before: 0,
            failed: None,
            closing: false,
            closed: false,
            writer: Some(Box::new(writer)),
            driving: false,
            counters: Counters::default(),
        }
    }

    pub(crate) fn first(&self) -> Index {
        self.segments
            .front()
            .map_or(self.last + 1, |segment| segment.first_index)
    }

    /// Payload bytes accepted and not yet written.
    pub(crate) fn pending_bytes(&self) -> usize {
        self.queue_bytes + self.handed_bytes
    }
}
