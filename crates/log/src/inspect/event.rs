//! What an inspector reports.

use super::{SegmentHeader, code::Code};
use std::fmt;

/// Something found in a log file. Every byte of the file is in exactly one of `Physical`,
/// `Padding`, `Damage` and `End`; the others say what the physical records before them add up to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A physical record whose checksum fits.
    Physical(Physical),
    /// A logical record; `Inspector::payload` gives its bytes until the next event.
    Record(Record),
    /// The last physical record is no piece of a logical one.
    Own(Own),
    /// Bytes left empty on purpose.
    Padding(PaddingSpan),
    /// Bytes that are no record, or pieces without the rest.
    Damage(Damage),
    /// Nothing more.
    End(End),
}

/// A physical record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Physical {
    /// Where its header begins.
    pub offset: u64,
    /// Its type byte.
    pub code: Code,
    /// Bytes of its header.
    pub header_bytes: u32,
    /// Bytes of its payload.
    pub payload_bytes: u32,
}

/// A logical record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Where the header of its first piece begins.
    pub offset: u64,
    /// Where its last piece ends.
    pub end: u64,
    /// Type byte of its first piece.
    pub code: Code,
    /// Bytes of its payload.
    pub payload_bytes: u64,
    /// Bytes of the headers of its pieces.
    pub header_bytes: u64,
    /// How many pieces it is in.
    pub fragments: u64,
    /// Whether `Inspector::payload` gives only its beginning, because it is larger than
    /// `Settings::record_bytes_max`.
    pub cut: bool,
    /// RocksDB's compression, when a record before named one: the payload is not to be understood
    /// without undoing it.
    pub compression: Option<u32>,
}

/// A record that describes the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Own {
    /// Dunlin's segment header; an error when this version cannot read it.
    Header(Result<SegmentHeader, &'static str>),
    /// Dunlin's sync mark: what is before this offset had been synced. None when it vouches for
    /// what is not before it.
    SyncMark(Option<u64>),
    /// The rest of the block is empty.
    Pad,
    /// RocksDB: the records that follow are compressed (0 none, 1 snappy, 2 zlib, 3 bzip2, 4 lz4,
    /// 5 lz4hc, 6 xpress, 7 zstd). None when it is malformed.
    Compression(Option<u32>),
    /// Another of RocksDB's types, or an unknown one that is safe to ignore.
    Other,
}

/// Bytes left empty on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaddingSpan {
    /// Where they begin.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
    /// Why.
    pub kind: Blank,
}

/// Why bytes were left empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blank {
    /// Fewer than a header were left of the block.
    Tail,
    /// The next record was to begin in a new block.
    Block,
}

/// What does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// Where it begins.
    pub offset: u64,
    /// Bytes that are in no physical record and were skipped.
    pub skipped_bytes: u64,
    /// Payload bytes of whole physical records that belong to no whole logical record.
    pub lost_bytes: u64,
    /// Whether whole records stand among what was skipped: it is no torn end.
    pub records_skipped: bool,
    /// What does not fit.
    pub reason: Reason,
}

/// Why bytes are no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The checksum does not match.
    #[error("checksum mismatch")]
    Checksum,
    /// It would cross the end of the block.
    #[error("record length beyond its block")]
    Length,
    /// The file ends within a record.
    #[error("the file ends within a record")]
    Short,
    /// The checksum fits a type this version does not know and must not ignore.
    #[error("unknown record type {0}")]
    Type(u8),
    /// Bytes that another log left in the file, or a header of another form, between records.
    #[error("bytes of another log between records")]
    Number,
    /// Nothing, but records follow.
    #[error("empty where records were")]
    Hole,
    /// A later piece of a record without its first.
    #[error("record without its beginning")]
    NoBeginning,
    /// The first pieces of a record without its last.
    #[error("record without its end")]
    NoEnd,
    /// A compressed batch of Dunlin's, checksums and all, that does not hold what it says.
    #[error("compressed batch that does not decompress to its records")]
    Batch,
}

/// The end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// Where the log ends.
    pub offset: u64,
    /// Bytes of the file behind it.
    pub unused_bytes: u64,
    /// What those are.
    pub rest: Rest,
}

/// What is behind the end of a log in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// Nothing: the file ends.
    Nothing,
    /// Zeros: room that was reserved.
    Zeros,
    /// What a recycled file held before.
    Stale {
        /// The log number of the first record there, when it has one.
        number: Option<u32>,
    },
}

impl fmt::Display for Rest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rest::Nothing => f.write_str("end of file"),
            Rest::Zeros => f.write_str("reserved and unused"),
            Rest::Stale { number: None } => f.write_str("left from the file's earlier life"),
            Rest::Stale {
                number: Some(number),
            } => write!(f, "left from the file's earlier life as log {number}"),
        }
    }
}
