//! One operation of a RocksDB write batch.

use super::write_batch::BatchError;

/// One operation. What an operation has no key or value for is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op<'a> {
    /// Its tag.
    pub tag: u8,
    /// Number of its column family, 0 for the default one.
    pub column_family: u32,
    /// Its key, the beginning of its range, or the name of its transaction.
    pub key: &'a [u8],
    /// Its value, operand or entity, or the end of its range.
    pub value: &'a [u8],
}

/// What follows a tag.
#[derive(Clone, Copy)]
enum Shape {
    Nothing,
    Key,
    KeyValue,
}

/// Name, whether a column family comes first, what follows, and whether the batch counts it.
const fn tag(tag: u8) -> Option<(&'static str, bool, Shape, bool)> {
    use Shape::{Key, KeyValue, Nothing};
    Some(match tag {
        0x00 => ("DELETE", false, Key, true),
        0x01 => ("PUT", false, KeyValue, true),
        0x02 => ("MERGE", false, KeyValue, true),
        0x03 => ("LOG-DATA", false, Key, false),
        0x04 => ("DELETE", true, Key, true),
        0x05 => ("PUT", true, KeyValue, true),
        0x06 => ("MERGE", true, KeyValue, true),
        0x07 => ("SINGLE-DELETE", false, Key, true),
        0x08 => ("SINGLE-DELETE", true, Key, true),
        0x09 => ("BEGIN-PREPARE", false, Nothing, false),
        0x0a => ("END-PREPARE", false, Key, false),
        0x0b => ("COMMIT", false, Key, false),
        0x0c => ("ROLLBACK", false, Key, false),
        0x0d => ("NOOP", false, Nothing, false),
        0x0e => ("DELETE-RANGE", true, KeyValue, true),
        0x0f => ("DELETE-RANGE", false, KeyValue, true),
        0x10 => ("BLOB-INDEX", true, KeyValue, true),
        0x11 => ("BLOB-INDEX", false, KeyValue, true),
        0x12 => ("BEGIN-PERSISTED-PREPARE", false, Nothing, false),
        0x13 => ("BEGIN-UNPREPARE", false, Nothing, false),
        0x15 => ("COMMIT-AT", false, KeyValue, false),
        0x16 => ("PUT-ENTITY", false, KeyValue, true),
        0x17 => ("PUT-ENTITY", true, KeyValue, true),
        0x18 => ("TIMED-PUT", false, KeyValue, true),
        0x19 => ("TIMED-PUT", true, KeyValue, true),
        _ => return None,
    })
}

impl<'a> Op<'a> {
    /// Its name.
    pub fn name(&self) -> &'static str {
        tag(self.tag).map_or("UNKNOWN", |(name, ..)| name)
    }

    /// Whether it is one of those the batch counts: it changes data.
    pub fn is_counted(&self) -> bool {
        tag(self.tag).is_some_and(|(.., counted)| counted)
    }

    /// Takes the first operation off `bytes`.
    pub(super) fn take(bytes: &mut &'a [u8]) -> Result<Op<'a>, BatchError> {
        let (&code, rest) = bytes.split_first().ok_or(BatchError::Short)?;
        *bytes = rest;
        let (_, family, shape, _) = tag(code).ok_or(BatchError::Tag(code))?;
        let column_family = if family { varint(bytes)? } else { 0 };
        let (key, value): (&[u8], &[u8]) = match shape {
            Shape::Nothing => (&[], &[]),
            Shape::Key => (prefixed(bytes)?, &[]),
            Shape::KeyValue => (prefixed(bytes)?, prefixed(bytes)?),
        };
        Ok(Op {
            tag: code,
            column_family,
            key,
            value,
        })
    }
}

/// A length and that many bytes.
fn prefixed<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], BatchError> {
    let length = varint(bytes)? as usize;
    let (taken, rest) = bytes.split_at_checked(length).ok_or(BatchError::Short)?;
    *bytes = rest;
    Ok(taken)
}

/// Seven bits a byte, the lowest first, at most 32 bits.
fn varint(bytes: &mut &[u8]) -> Result<u32, BatchError> {
    let mut value = 0u64;
    for shift in (0..35).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(BatchError::Short)?;
        *bytes = rest;
        value |= u64::from(byte & 127) << shift;
        if byte & 128 == 0 {
            return u32::try_from(value).map_err(|_| BatchError::Varint);
        }
    }
    Err(BatchError::Varint)
}
