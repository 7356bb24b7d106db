//! The bytes of a frame: `length u32 | crc32c u32 | kind u8 | call u64 | body`.
use bytes::{Buf, BufMut, Bytes, BytesMut};

/// The largest `length` a frame may have, in bytes: a 64 MB value and what goes with it.
pub const FRAME_BYTES_MAX: usize = 80 << 20;

/// Bytes before what the checksum covers.
const PREFIX_BYTES: usize = 8;
/// Kind and call: covered by length and checksum.
const HEAD_BYTES: usize = 9;
/// Bytes of a frame with an empty body.
pub(crate) const FRAME_OVERHEAD_BYTES: usize = PREFIX_BYTES + HEAD_BYTES;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A request, with the time that is left for it.
    Request = 0,
    Response = 1,
    Refusal = 2,
    Ping = 3,
    Pong = 4,
    /// A request that is not answered.
    Notice = 5,
    /// Nobody waits for the answer any more.
    Cancel = 6,
    /// A request whose answer is a stream, with the credit for it.
    Open = 7,
    /// Part of an item of a stream.
    Item = 8,
    /// More credit for a stream.
    Credit = 9,
    /// Nothing more comes of a stream.
    End = 10,
    /// Nobody reads a stream any more.
    Stop = 11,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => Self::Request,
            1 => Self::Response,
            2 => Self::Refusal,
            3 => Self::Ping,
            4 => Self::Pong,
            5 => Self::Notice,
            6 => Self::Cancel,
            7 => Self::Open,
            8 => Self::Item,
            9 => Self::Credit,
            10 => Self::End,
            11 => Self::Stop,
            _ => return None,
        })
    }
}

/// A frame whose checksum has been verified.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub kind: Kind,
    pub call: u64,
    pub body: Bytes,
}

/// Bytes that are not a frame. The stream has lost its framing and is closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The length is impossible.
    #[error("length {bytes} is not between {HEAD_BYTES} and {bytes_max}")]
    Length {
        /// The length that was read.
        bytes: usize,
        /// The limit in force.
        bytes_max: usize,
    },
    /// The checksum does not match: bytes were damaged on the way.
    #[error("checksum mismatch in a frame of {bytes} bytes")]
    Checksum {
        /// The frame's length.
        bytes: usize,
    },
    /// A kind that this side does not know or does not expect.
    #[error("unexpected kind {0}")]
    Kind(u8),
    /// The peer goes beyond what a stream allows, or names one that there is not.
    #[error("stream {stream}: {why}")]
    Stream {
        /// Its number.
        stream: u64,
        /// What is wrong.
        why: &'static str,
    },
    /// The body of a frame is shorter than what it must begin with.
    #[error("a frame of kind {0} with too short a body")]
    Body(u8),
    /// A frame was begun and is not arriving at any useful rate: its length is not to be believed.
    #[error("frame of {bytes} bytes stopped arriving")]
    Unfinished {
        /// The length that the frame claims.
        bytes: usize,
    },
}

/// Appends a frame whose body `encode` writes. A frame above `bytes_max` is taken back and its
/// length is the error.
pub(crate) fn append(
    out: &mut BytesMut,
    kind: Kind,
    call: u64,
    bytes_max: usize,
    encode: impl FnOnce(&mut BytesMut),
) -> Result<(), usize> {
    let start = out.len();
    out.put_u64_le(0);
    out.put_u8(kind as u8);
    out.put_u64_le(call);
    encode(out);
    let covered = start + PREFIX_BYTES;
    let length = out.len().saturating_sub(covered);
    let encoded = match u32::try_from(length) {
        Ok(encoded) if length <= bytes_max => encoded,
        _ => {
            out.truncate(start);
            return Err(length);
        }
    };
    let checksum = crc32c::crc32c(&out[covered..]);
    out[start..start + 4].copy_from_slice(&encoded.to_le_bytes());
    out[start + 4..covered].copy_from_slice(&checksum.to_le_bytes());
    Ok(())
}

/// The size of the whole frame that `input` begins with, once its length can be read.
pub(crate) fn announced(input: &[u8], bytes_max: usize) -> Result<Option<usize>, FrameError> {
    let Some(length) = input.first_chunk::<4>() else {
        return Ok(None);
    };
    let bytes = u32::from_le_bytes(*length) as usize;
    if bytes < HEAD_BYTES || bytes > bytes_max {
        return Err(FrameError::Length { bytes, bytes_max });
    }
    Ok(Some(PREFIX_BYTES + bytes))
}

/// Takes one frame off the front of `input`, or nothing when it is not all there yet.
pub(crate) fn take(input: &mut BytesMut, bytes_max: usize) -> Result<Option<Frame>, FrameError> {
    let Some(total) = announced(input, bytes_max)? else {
        return Ok(None);
    };
    if input.len() < total {
        return Ok(None);
    }
    let mut frame = input.split_to(total).freeze();
    let bytes = frame.get_u32_le() as usize;
    let checksum = frame.get_u32_le();
    if crc32c::crc32c(&frame) != checksum {
        return Err(FrameError::Checksum { bytes });
    }
    let kind = frame.get_u8();
    let call = frame.get_u64_le();
    let kind = Kind::from_byte(kind).ok_or(FrameError::Kind(kind))?;
    Ok(Some(Frame {
        kind,
        call,
        body: frame,
    }))
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
