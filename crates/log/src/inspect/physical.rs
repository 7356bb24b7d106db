//! One physical record of any type, checksum and all.

use super::{code::Code, event::Reason};
use crate::block::{LEGACY_HEADER, RECYCLABLE_HEADER, checksum::mask};
use std::ops::Range;

/// A physical record whose checksum fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub code: Code,
    pub header_bytes: usize,
    /// The log number, when its header holds one.
    pub number: Option<u32>,
    /// Where in the block its payload is.
    pub payload: Range<usize>,
}

/// What is at an offset of a block, a block's tail aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum At {
    Record(Found),
    /// A zero header.
    Zero,
    Invalid(Reason),
}

/// Parses what is at `at`, where at least a legacy header is left. `whole` is false for a block
/// that the end of the file cuts short.
pub(super) fn parse(block: &[u8], at: usize, dunlin: bool, whole: bool) -> At {
    let bytes = block.get(at..).unwrap_or_default();
    let short = || match whole {
        true => Reason::Length,
        false => Reason::Short,
    };
    let Some(&[c0, c1, c2, c3, l0, l1, code]) = bytes.first_chunk::<LEGACY_HEADER>() else {
        return At::Invalid(short());
    };
    let checksum = u32::from_le_bytes([c0, c1, c2, c3]);
    let counted = usize::from(u16::from_le_bytes([l0, l1]));
    if code == 0 && checksum == 0 && counted == 0 {
        return At::Zero;
    }
    let code = Code(code);
    let header = code.header(dunlin);
    let end = header.uncounted + counted;
    if end < header.bytes {
        return At::Invalid(Reason::Length);
    }
    // The type byte, the log number and the payload lie side by side.
    let Some(checked) = bytes.get(LEGACY_HEADER - 1..end) else {
        return At::Invalid(short());
    };
    if mask(crc32c::crc32c(checked)) != checksum {
        return At::Invalid(Reason::Checksum);
    }
    At::Record(Found {
        code,
        header_bytes: header.bytes,
        number: header.numbered.then(|| number_at(bytes)).flatten(),
        payload: at + header.bytes..at + end,
    })
}

/// What stands where a header at the beginning of `bytes` would hold its log number.
pub(super) fn number_at(bytes: &[u8]) -> Option<u32> {
    bytes
        .get(LEGACY_HEADER..)?
        .first_chunk::<{ RECYCLABLE_HEADER - LEGACY_HEADER }>()
        .map(|number| u32::from_le_bytes(*number))
}

/// Whether a record with this log number begins anywhere at or behind `from`.
pub(super) fn any_with_number(
    block: &[u8],
    from: usize,
    number: u32,
    dunlin: bool,
    whole: bool,
) -> bool {
    let bytes = number.to_le_bytes();
    let Some(numbers) = block.get(from + LEGACY_HEADER..) else {
        return false;
    };
    numbers
        .windows(bytes.len())
        .enumerate()
        .filter(|(_, window)| *window == bytes)
        .any(|(distance, _)| {
            matches!(
                parse(block, from + distance, dunlin, whole),
                At::Record(found) if found.number == Some(number)
            )
        })
}
