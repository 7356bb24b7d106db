//! What kinds of records a block of data holds.

use super::block::{take, varint};

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

/// The first record of a block that is no plain one. `None` for a form that is not known.
pub(super) fn odd(block: &[u8]) -> Option<Option<Record>> {
    let mut input = entries(block)?;
    let mut key = Vec::new();
    while !input.is_empty() {
        let shared = usize::try_from(varint(&mut input)?).ok()?;
        let unshared = varint(&mut input)?;
        let value = varint(&mut input)?;
        if shared > key.len() {
            return None;
        }
        key.truncate(shared);
        key.extend_from_slice(take(&mut input, unshared)?);
        take(&mut input, value)?;
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

/// The entries of a block of data, without its restart points and the hashes of its keys.
fn entries(block: &[u8]) -> Option<&[u8]> {
    let (rest, packed) = block.split_last_chunk::<4>()?;
    let packed = u32::from_le_bytes(*packed);
    // Bit 29 only says how keys are spread; the other high bits, but the one of the hashes, change
    // the form.
    if packed & 0x5000_0000 != 0 {
        return None;
    }
    let rest = match packed & 0x8000_0000 != 0 {
        true => {
            let (rest, buckets) = rest.split_last_chunk::<2>()?;
            let buckets = usize::from(u16::from_le_bytes(*buckets));
            rest.get(..rest.len().checked_sub(buckets)?)?
        }
        false => rest,
    };
    let restarts = (packed & 0x0fff_ffff) as usize;
    rest.get(..rest.len().checked_sub(restarts.checked_mul(4)?)?)
}
