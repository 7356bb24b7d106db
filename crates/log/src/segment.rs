//! One file of the log: its name, its own records, and reading it.

pub(crate) mod header;
pub(crate) mod mark;
pub(crate) mod name;
pub(crate) mod proof;
pub(crate) mod records;
pub(crate) mod scan;

use crate::Index;
use bytes::Bytes;

/// Bytes of a segment header's payload, which follows the physical header of each segment's first
/// record.
pub const SEGMENT_HEADER_LENGTH: usize = header::LENGTH;

/// What is known of a segment without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentInfo {
    /// Its number; the file's name.
    pub number: u64,
    /// Index of its preamble, its first record.
    pub first_index: Index,
    /// Index of its last record.
    pub last_index: Index,
    /// Bytes written to it.
    pub bytes: u64,
    /// What `rotate` was given when it was begun.
    pub preamble: Bytes,
}
