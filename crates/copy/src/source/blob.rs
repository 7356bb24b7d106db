//! Blob files checked record by record, without being decompressed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::crc::masked;
use crate::CopyError;

const MAGIC: u32 = 0x0024_8f37;
const HEADER_BYTES: u64 = 30;
const FOOTER_BYTES: u64 = 32;
const RECORD_HEADER_BYTES: u64 = 32;
/// Read at once.
const BUFFER_BYTES: usize = 1 << 20;

/// Reads every record of the blob file at `path` and compares it with its checksums.
pub(crate) fn check(path: &Path) -> Result<(), CopyError> {
    let damaged = |at: u64| CopyError::Damaged {
        file: path.to_path_buf(),
        detail: format!("what is at byte {at} does not match its checksum"),
    };
    let failed = |error: io::Error, at: u64| match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => damaged(at),
        _ => CopyError::io(path, error),
    };
    let file = File::open(path).map_err(|error| CopyError::io(path, error))?;
    let length = file
        .metadata()
        .map_err(|error| CopyError::io(path, error))?
        .len();
    let mut input = BufReader::with_capacity(BUFFER_BYTES, file);
    let header = take::<{ HEADER_BYTES as usize }>(&mut input).map_err(|error| failed(error, 0))?;
    if number(&header, 0) != MAGIC || number(&header, 4) != 1 {
        return Err(damaged(0));
    }
    let mut at = HEADER_BYTES;
    while at < length {
        let head = take::<{ RECORD_HEADER_BYTES as usize }>(&mut input);
        let head = head.map_err(|error| failed(error, at))?;
        if at + FOOTER_BYTES == length && number(&head, 0) == MAGIC {
            let whole = masked(crc32c::crc32c(&head[..28])) == number(&head, 28);
            return if whole { Ok(()) } else { Err(damaged(at)) };
        }
        if masked(crc32c::crc32c(&head[..24])) != number(&head, 24) {
            return Err(damaged(at));
        }
        let bytes = long(&head, 0)
            .checked_add(long(&head, 8))
            .filter(|bytes| *bytes <= length);
        let bytes = bytes.ok_or_else(|| damaged(at))?;
        let checksum = checksum(&mut input, bytes).map_err(|error| failed(error, at))?;
        if masked(checksum) != number(&head, 28) {
            return Err(damaged(at));
        }
        at += RECORD_HEADER_BYTES + bytes;
    }
    Ok(())
}

fn take<const N: usize>(input: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// The checksum of the next `left` bytes, in whatever pieces they come.
fn checksum(input: &mut impl BufRead, mut left: u64) -> io::Result<u32> {
    let mut checksum = 0;
    while left > 0 {
        let piece = input.fill_buf()?;
        if piece.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let used = left.min(piece.len() as u64) as usize;
        checksum = crc32c::crc32c_append(checksum, &piece[..used]);
        input.consume(used);
        left -= used as u64;
    }
    Ok(checksum)
}

fn number(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    u32::from_le_bytes(four.unwrap_or_default())
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(number(bytes, at)) | u64::from(number(bytes, at + 4)) << 32
}

#[cfg(test)]
#[path = "blob_tests.rs"]
mod tests;
