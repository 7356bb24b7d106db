//! Data on the wire, compressed or not: `codec u8 | raw_length u32 | payload`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::frame::FRAME_BYTES_MAX;

/// Bytes before the payload.
pub(crate) const PREFIX_BYTES: usize = 5;
/// Payloads above this are sent as they are: two of them in memory would be too much.
const COMPRESSED_BYTES_MAX: usize = 8 << 20;

/// A compression, of frames or of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// None.
    #[default]
    None,
    /// LZ4: little work.
    Lz4,
    /// Zstandard: more work, fewer bytes.
    Zstd,
}

impl Compression {
    fn number(self) -> u8 {
        match self {
            Compression::None => 0,
            Compression::Lz4 => 1,
            Compression::Zstd => 2,
        }
    }
}

/// Turns `buffer`, whose first [`PREFIX_BYTES`] are room for the prefix, into a frame's body.
/// What does not shrink goes as it is.
pub(crate) fn pack(mut buffer: Vec<u8>, compression: Compression) -> Vec<u8> {
    let raw = &buffer[PREFIX_BYTES..];
    let raw_length = (raw.len() as u32).to_le_bytes();
    let compressed = match compression {
        _ if raw.len() > COMPRESSED_BYTES_MAX => None,
        Compression::None => None,
        Compression::Lz4 => Some(lz4_flex::block::compress(raw)),
        Compression::Zstd => zstd::bulk::compress(raw, 1).ok(),
    };
    let (number, payload) = match compressed {
        Some(compressed) if compressed.len() < raw.len() => {
            (compression.number(), Some(compressed))
        }
        _ => (Compression::None.number(), None),
    };
    if let Some(payload) = payload {
        buffer.truncate(PREFIX_BYTES);
        buffer.extend_from_slice(&payload);
    }
    buffer[0] = number;
    buffer[1..PREFIX_BYTES].copy_from_slice(&raw_length);
    buffer
}

/// The payload of a frame's body, or what is wrong with it.
pub(crate) fn unpack(body: &[u8]) -> Result<Cow<'_, [u8]>, &'static str> {
    let [codec, l0, l1, l2, l3, payload @ ..] = body else {
        return Err("data frame without a prefix");
    };
    let raw_length = u32::from_le_bytes([*l0, *l1, *l2, *l3]) as usize;
    if raw_length > FRAME_BYTES_MAX {
        return Err("data frame of an impossible length");
    }
    let raw = match codec {
        0 => Cow::Borrowed(payload),
        1 => Cow::Owned(
            lz4_flex::block::decompress(payload, raw_length)
                .map_err(|_| "data frame that lz4 cannot decompress")?,
        ),
        2 => Cow::Owned(
            zstd::bulk::decompress(payload, raw_length)
                .map_err(|_| "data frame that zstd cannot decompress")?,
        ),
        _ => return Err("data frame with an unknown compression"),
    };
    if raw.len() != raw_length {
        return Err("data frame whose length is not the one it names");
    }
    Ok(raw)
}

#[cfg(test)]
#[path = "codec_tests.rs"]
mod tests;
