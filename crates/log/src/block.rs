//! Blocks and physical records: a pure encoder and decoder on byte slices, usable alone.
//! The format is LevelDB's and RocksDB's; see docs/formats.md section 1.

pub(crate) mod checksum;
mod decode;
mod encode;

pub(crate) use decode::Full;
pub use decode::{Decoded, Expect, Invalid, decode};
pub use encode::{Encoder, Form};

/// Size of the legacy header in bytes: checksum, length, kind.
pub const LEGACY_HEADER: usize = 7;
/// Size of the recyclable header in bytes: the legacy header and the log number.
pub const RECYCLABLE_HEADER: usize = 11;
/// Largest payload of one physical record in bytes: the length has 16 bits.
pub const FRAGMENT_MAX: usize = u16::MAX as usize;

/// What a physical record holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A whole logical record.
    Full,
    /// The beginning of one.
    First,
    /// A part between.
    Middle,
    /// The end of one.
    Last,
    /// Dunlin's segment header.
    SegmentHeader,
    /// Dunlin's sync mark.
    SyncMark,
    /// The rest of the block is empty.
    Pad,
    /// A whole compressed batch of logical records.
    BatchFull,
    /// The beginning of one.
    BatchFirst,
    /// A part between.
    BatchMiddle,
    /// The end of one.
    BatchLast,
}

impl Kind {
    const fn index(self) -> usize {
        match self {
            Kind::Full => 0,
            Kind::First => 1,
            Kind::Middle => 2,
            Kind::Last => 3,
            Kind::SegmentHeader => 4,
            Kind::SyncMark => 5,
            Kind::Pad => 6,
            Kind::BatchFull => 7,
            Kind::BatchFirst => 8,
            Kind::BatchMiddle => 9,
            Kind::BatchLast => 10,
        }
    }

    const ALL: [Kind; 11] = [
        Kind::Full,
        Kind::First,
        Kind::Middle,
        Kind::Last,
        Kind::SegmentHeader,
        Kind::SyncMark,
        Kind::Pad,
        Kind::BatchFull,
        Kind::BatchFirst,
        Kind::BatchMiddle,
        Kind::BatchLast,
    ];

    /// The type byte; the recyclable forms of the first four differ from the legacy ones.
    const fn code(self, recyclable: bool) -> u8 {
        match self {
            Kind::SegmentHeader => 192,
            Kind::SyncMark => 194,
            Kind::Pad => 196,
            Kind::BatchFull => 200,
            Kind::BatchFirst => 201,
            Kind::BatchMiddle => 202,
            Kind::BatchLast => 203,
            _ if recyclable => self.index() as u8 + 5,
            _ => self.index() as u8 + 1,
        }
    }

    /// The kind of a type byte, and whether its header holds a log number.
    const fn from_code(code: u8) -> Option<(Kind, bool)> {
        Some(match code {
            1 => (Kind::Full, false),
            2 => (Kind::First, false),
            3 => (Kind::Middle, false),
            4 => (Kind::Last, false),
            5 => (Kind::Full, true),
            6 => (Kind::First, true),
            7 => (Kind::Middle, true),
            8 => (Kind::Last, true),
            192 => (Kind::SegmentHeader, true),
            194 => (Kind::SyncMark, true),
            196 => (Kind::Pad, true),
            200 => (Kind::BatchFull, true),
            201 => (Kind::BatchFirst, true),
            202 => (Kind::BatchMiddle, true),
            203 => (Kind::BatchLast, true),
            _ => return None,
        })
    }

    /// Whether it is a record of Dunlin's own: its length counts the log number as payload, so that
    /// RocksDB, which knows these types only as safe to ignore, can check and skip them.
    const fn is_own(self) -> bool {
        !matches!(self, Kind::Full | Kind::First | Kind::Middle | Kind::Last)
    }
}

#[cfg(test)]
#[path = "block_tests.rs"]
mod tests;
