//! What kinds of records a block of data holds.

use super::block::Pairs;

/// A record that is more, or less, than one value of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Record {
    /// An operand of a merge operator.
    Merge,
    /// An entity of several columns.
    Entity,
    /// Of a kind that later versions of RocksDB have.
    Unknown(u8),
}

/// Behind each key: the kind of its record in one byte, its number in seven.
const TRAILER_BYTES: usize = 8;

/// The first record of a block of data that is no plain one. `None` for a form that is not known.
pub(super) fn odd(block: &[u8]) -> Option<Option<Record>> {
    let mut pairs = Pairs::of_data(block)?;
    while !pairs.is_at_end() {
        let (key, _) = pairs.take()?;
        let kind = *key.get(key.len().checked_sub(TRAILER_BYTES)?)?;
        match kind {
            // Delete, value, single delete, value in a blob file, value with a time.
            0x00 | 0x01 | 0x07 | 0x11 | 0x18 => {}
            0x02 => return Some(Some(Record::Merge)),
            0x16 => return Some(Some(Record::Entity)),
            kind => return Some(Some(Record::Unknown(kind))),
        }
    }
    Some(None)
}
