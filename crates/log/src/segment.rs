//! One file of the log: its name, its own records, and reading it.

pub(crate) mod header;
pub(crate) mod mark;
pub(crate) mod name;
pub(crate) mod proof;
pub(crate) mod records;
pub(crate) mod scan;

use crate::{
    Index,
    options::{Compression, Options, Padding},
};
use bytes::Bytes;

/// Bytes of a segment header's payload, which follows the physical header of each segment's first
/// record.
pub const SEGMENT_HEADER_LENGTH: usize = header::LENGTH;

/// The settings a segment was begun with, as its header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentSettings {
    /// Block size in bytes.
    pub block_size_bytes: u32,
    /// What happens at the end of a block.
    pub padding: Padding,
    /// What its groups are compressed with, where that makes them smaller.
    pub compression: Compression,
    /// Whether it was begun with direct I/O: asked for, and allowed by the file system.
    pub direct_io: bool,
}

impl SegmentSettings {
    pub(crate) fn of(options: &Options) -> SegmentSettings {
        SegmentSettings {
            block_size_bytes: options.block_size_bytes,
            padding: options.padding,
            compression: options.compression,
            direct_io: options.direct_io,
        }
    }
}

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
    /// How it is written.
    pub settings: SegmentSettings,
}
