//! The bytes of a frame: `length u32 | crc32c u32 | kind u8 | body`.

use std::io::{self, Read, Write};

/// The largest `length`, in bytes: a 64 MB value and what goes with it.
pub(crate) const FRAME_BYTES_MAX: usize = 80 << 20;
/// The largest key and value together, in bytes.
pub(crate) const PAIR_BYTES_MAX: usize = FRAME_BYTES_MAX - 1024;

const HEAD_BYTES: usize = 9;
/// Bodies up to this size are joined with their head into one write.
const JOINED_BYTES_MAX: usize = 16 << 10;

/// One frame whose checksum was verified.
#[derive(Debug)]
pub(crate) struct Frame {
    /// What it is, see `message`.
    pub kind: u8,
    /// The rest.
    pub body: Vec<u8>,
}

/// A frame's head: how long its body is, and what the checksum of kind and body must be.
pub(crate) struct Head {
    kind: u8,
    checksum: u32,
    /// Bytes of the body.
    pub body_bytes: usize,
}

/// Writes a frame; answers how many bytes that were.
pub(crate) fn write(out: &mut impl Write, kind: u8, body: &[u8]) -> io::Result<usize> {
    let length = body.len() + 1;
    let encoded = u32::try_from(length)
        .ok()
        .filter(|_| length <= FRAME_BYTES_MAX)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "frame too large"))?;
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&[kind]), body);
    let mut head = Vec::with_capacity(HEAD_BYTES + body.len().min(JOINED_BYTES_MAX));
    head.extend_from_slice(&encoded.to_le_bytes());
    head.extend_from_slice(&checksum.to_le_bytes());
    head.push(kind);
    if body.len() <= JOINED_BYTES_MAX {
        head.extend_from_slice(body);
        out.write_all(&head)?;
    } else {
        out.write_all(&head)?;
        out.write_all(body)?;
    }
    Ok(HEAD_BYTES + body.len())
}

/// Reads a frame's head.
pub(crate) fn read_head(input: &mut impl Read) -> io::Result<Head> {
    let mut head = [0; HEAD_BYTES];
    input.read_exact(&mut head)?;
    let [l0, l1, l2, l3, c0, c1, c2, c3, kind] = head;
    let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    if length == 0 || length > FRAME_BYTES_MAX {
        return Err(invalid(format!("a frame cannot have {length} bytes")));
    }
    Ok(Head {
        kind,
        checksum: u32::from_le_bytes([c0, c1, c2, c3]),
        body_bytes: length - 1,
    })
}

/// Reads the body that belongs to `head`.
pub(crate) fn read_body(input: &mut impl Read, head: &Head) -> io::Result<Frame> {
    let mut body = Vec::new();
    body.reserve_exact(head.body_bytes);
    input.take(head.body_bytes as u64).read_to_end(&mut body)?;
    if body.len() < head.body_bytes {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if crc32c::crc32c_append(crc32c::crc32c(&[head.kind]), &body) != head.checksum {
        return Err(invalid("a frame was damaged on the way".to_owned()));
    }
    Ok(Frame {
        kind: head.kind,
        body,
    })
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
