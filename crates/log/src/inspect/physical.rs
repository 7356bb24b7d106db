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
    let short = || if whole { Reason::Length } else { Reason::Short };
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

/// Bytes that one search may check, so that made-up headers cannot make it take forever.
const SEARCH_BYTES: usize = 16 << 20;

/// Whether a whole record of the log with this number, if it is known, begins anywhere at or behind
/// `from`. `numbered` logs have no other records; of others any piece of data will do.
pub(super) fn any_behind(
    block: &[u8],
    from: usize,
    number: Option<u32>,
    numbered: bool,
    dunlin: bool,
    whole: bool,
) -> bool {
    let mut budget = SEARCH_BYTES;
    let bytes = block.get(from..).unwrap_or_default();
    bytes
        .windows(LEGACY_HEADER)
        .enumerate()
        .filter(|(distance, header)| {
            if numbered {
                number_at(&bytes[*distance..]) == number
            } else {
                (1..=8).contains(&header[LEGACY_HEADER - 1])
            }
        })
        .take_while(|(distance, header)| {
            let counted = usize::from(u16::from_le_bytes([header[4], header[5]]));
            // What would cross the end of the block costs nothing.
            let fits = distance + counted <= bytes.len();
            budget = budget.saturating_sub(if fits { counted } else { 0 });
            budget > 0
        })
        .any(
            |(distance, _)| match parse(block, from + distance, dunlin, whole) {
                At::Record(found) => match (number, found.number) {
                    (Some(number), Some(other)) => number == other,
                    (_, other) => other.is_some() || !numbered,
                },
                _ => false,
            },
        )
}
