//! Type bytes: what each means and which header it has.

use crate::block::{LEGACY_HEADER, RECYCLABLE_HEADER};

/// The type byte of a physical record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub u8);

/// Which piece of a logical record a physical one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Full,
    /// Its beginning.
    First,
    /// A part between.
    Middle,
    /// Its end.
    Last,
}

/// What a physical record is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// A piece of a logical record.
    Data(Part),
    /// Dunlin's segment header.
    SegmentHeader,
    /// Dunlin's sync mark.
    SyncMark,
    /// The rest of the block is empty.
    Pad,
    /// RocksDB: the records behind it are compressed.
    Compression,
    /// RocksDB: sizes of user-defined timestamps.
    Timestamps,
    /// RocksDB: number, size and last sequence of the log before.
    Predecessor,
    /// Unknown, and marked as safe to ignore (bit 128).
    Ignorable,
    /// Unknown: whoever wrote it expects that a reader who does not know it refuses the log.
    Unknown,
}

/// Where the payload of a physical record begins, and what its length counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// Bytes before the payload.
    pub bytes: usize,
    /// Bytes that the length does not count.
    pub uncounted: usize,
    /// Whether the last four bytes of the header are a log number.
    pub numbered: bool,
}

const LEGACY: Header = Header {
    bytes: LEGACY_HEADER,
    uncounted: LEGACY_HEADER,
    numbered: false,
};
const RECYCLABLE: Header = Header {
    bytes: RECYCLABLE_HEADER,
    uncounted: RECYCLABLE_HEADER,
    numbered: true,
};
/// Dunlin's own: the length counts the log number, so that RocksDB can check and skip it.
const OWN: Header = Header {
    bytes: RECYCLABLE_HEADER,
    uncounted: LEGACY_HEADER,
    numbered: true,
};

impl Code {
    /// The first type that is Dunlin's own.
    const OWN: u8 = 192;

    /// What it means, in a Dunlin segment or in a log of RocksDB or LevelDB.
    pub fn meaning(self, dunlin: bool) -> Use {
        match self.0 {
            1 | 5 => Use::Data(Part::Full),
            2 | 6 => Use::Data(Part::First),
            3 | 7 => Use::Data(Part::Middle),
            4 | 8 => Use::Data(Part::Last),
            9 => Use::Compression,
            10 | 11 => Use::Timestamps,
            130 | 131 => Use::Predecessor,
            192 if dunlin => Use::SegmentHeader,
            194 if dunlin => Use::SyncMark,
            196 if dunlin => Use::Pad,
            200 if dunlin => Use::Data(Part::Full),
            201 if dunlin => Use::Data(Part::First),
            202 if dunlin => Use::Data(Part::Middle),
            203 if dunlin => Use::Data(Part::Last),
            code if code & 128 != 0 => Use::Ignorable,
            _ => Use::Unknown,
        }
    }

    /// Its name, as RocksDB has it where it is RocksDB's.
    pub fn name(self, dunlin: bool) -> &'static str {
        match (self.0, self.meaning(dunlin)) {
            (200, Use::Data(_)) => "BATCH",
            (201, Use::Data(_)) => "BATCH-FIRST",
            (202, Use::Data(_)) => "BATCH-MIDDLE",
            (203, Use::Data(_)) => "BATCH-LAST",
            (_, Use::Data(Part::Full)) => "FULL",
            (_, Use::Data(Part::First)) => "FIRST",
            (_, Use::Data(Part::Middle)) => "MIDDLE",
            (_, Use::Data(Part::Last)) => "LAST",
            (_, Use::SegmentHeader) => "HEADER",
            (_, Use::SyncMark) => "SYNC-MARK",
            (_, Use::Pad) => "PAD",
            (_, Use::Compression) => "SET-COMPRESSION",
            (_, Use::Timestamps) => "TIMESTAMP-SIZES",
            (_, Use::Predecessor) => "PREDECESSOR",
            (_, Use::Ignorable) => "IGNORABLE",
            (_, Use::Unknown) => "UNKNOWN",
        }
    }

    /// Whether it is a compressed batch of Dunlin's, or a piece of one.
    pub fn is_batch(self, dunlin: bool) -> bool {
        dunlin && (200..=203).contains(&self.0)
    }

    /// Pieces of one logical record have the same family.
    pub(super) fn family(self) -> u8 {
        match self.0 {
            1..=4 => 1,
            5..=8 => 5,
            code => code & !3,
        }
    }

    /// The header that goes with it.
    pub(super) fn header(self, dunlin: bool) -> Header {
        match self.0 {
            5..=8 | 11 | 131 => RECYCLABLE,
            Self::OWN.. if dunlin => OWN,
            _ => LEGACY,
        }
    }
}
