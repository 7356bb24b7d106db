//! What stands behind invalid bytes: was what they replace ever synced?

use super::mark;
use crate::{
    block::{Decoded, Expect, Kind, LEGACY_HEADER, RECYCLABLE_HEADER, decode},
    disk::DiskFile,
    options::BLOCK_SIZE_BYTES_MAX,
};
use std::io;

/// A multiple of every block size, so that no record crosses a window.
const WINDOW: usize = BLOCK_SIZE_BYTES_MAX as usize;

/// What was found behind an offset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Behind {
    /// The greatest offset a mark vouches for.
    pub synced_offset: u64,
    /// End of the last thing of this segment, 0 when nothing was found.
    pub end: u64,
}

/// Looks for records of segment `number` from `from` to the end of the file: record after record
/// where they are valid, at every offset where they are not. Block size and padding need not be
/// known.
pub(crate) fn behind(file: &dyn DiskFile, number: u64, from: u64) -> io::Result<Behind> {
    let length = file.len()?;
    let expect = Expect::Number(number as u32);
    let mut found = Behind::default();
    let mut base = from - from % WINDOW as u64;
    let mut buffer = vec![0; length.saturating_sub(base).min(WINDOW as u64) as usize];
    while base < length {
        let read = file.read_at(&mut buffer, base)?;
        let window = &buffer[..read];
        let mut at = from.saturating_sub(base) as usize;
        while let Some(next) = candidate(window, at, number as u32) {
            at = next;
            match decode(window, at, expect) {
                Decoded::Record { kind, payload } => {
                    found.end = base + payload.end as u64;
                    if kind == Kind::SyncMark
                        && let Some(offset) =
                            mark::decode(&window[payload.clone()], base + at as u64)
                    {
                        found.synced_offset = found.synced_offset.max(offset);
                    }
                    at = payload.end;
                }
                _ => at += 1,
            }
        }
        base += WINDOW as u64;
    }
    Ok(found)
}

/// Offsets looked at together.
const LANES: usize = 64;
/// Bytes of a log number.
const NUMBER: usize = RECYCLABLE_HEADER - LEGACY_HEADER;

/// The next offset from `at` where the bytes of a header could be this segment's.
fn candidate(window: &[u8], at: usize, number: u32) -> Option<usize> {
    let number = number.to_le_bytes();
    let numbers = window.get(at + LEGACY_HEADER..)?;
    let mut skipped = 0;
    while let Some(lanes) = numbers
        .get(skipped..)?
        .first_chunk::<{ LANES + NUMBER - 1 }>()
        && !holds(lanes, number)
    {
        skipped += LANES;
    }
    numbers
        .get(skipped..)?
        .windows(NUMBER)
        .position(|bytes| bytes == number)
        .map(|distance| at + skipped + distance)
}

/// Whether the number stands somewhere. Without a branch, so that it compiles to vector
/// instructions: most of what stands behind a log is megabytes of zeros or of older records.
fn holds(bytes: &[u8; LANES + NUMBER - 1], [n0, n1, n2, n3]: [u8; NUMBER]) -> bool {
    let mut found = false;
    for lane in 0..LANES {
        found |= (bytes[lane] == n0)
            & (bytes[lane + 1] == n1)
            & (bytes[lane + 2] == n2)
            & (bytes[lane + 3] == n3);
    }
    found
}

/// The end of the non-zero bytes in the 1 MiB window of `from`; `from` when there are none.
pub(crate) fn nonzero_end(file: &dyn DiskFile, from: u64) -> io::Result<u64> {
    let window = WINDOW as u64 - from % WINDOW as u64;
    let rest = file.len()?.saturating_sub(from);
    let mut buffer = vec![0; window.min(rest) as usize];
    let read = file.read_at(&mut buffer, from)?;
    Ok(buffer[..read]
        .iter()
        .rposition(|&byte| byte != 0)
        .map_or(from, |last| from + last as u64 + 1))
}

#[cfg(test)]
#[path = "proof_tests.rs"]
mod tests;
