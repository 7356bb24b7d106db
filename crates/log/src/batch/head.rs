//! What the first bytes of a batch say.

use super::{CODEC_LZ4, CODEC_ZSTD, HEADER, LENGTH};

/// What a compressed batch says of itself: `codec u8 | count u32 | raw_length u32 | compressed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompressedBatch {
    /// 1 lz4, 2 zstd.
    pub codec: u8,
    /// Logical records in it.
    pub count: u32,
    /// Bytes of those before compression, their framing included.
    pub raw_bytes: u32,
    /// Compressed bytes.
    pub compressed_bytes: u64,
}

impl CompressedBatch {
    /// Reads it from the payload of a record of type 200; none when that is too short.
    pub fn parse(payload: &[u8]) -> Option<CompressedBatch> {
        let (&[codec, c0, c1, c2, c3, r0, r1, r2, r3], compressed) =
            payload.split_first_chunk::<HEADER>()?;
        Some(CompressedBatch {
            codec,
            count: u32::from_le_bytes([c0, c1, c2, c3]),
            raw_bytes: u32::from_le_bytes([r0, r1, r2, r3]),
            compressed_bytes: compressed.len() as u64,
        })
    }

    /// Payload bytes of the records in it.
    pub fn payload_bytes(&self) -> u64 {
        u64::from(self.raw_bytes).saturating_sub(LENGTH as u64 * u64::from(self.count))
    }

    /// Name of the codec.
    pub fn codec_name(&self) -> &'static str {
        match self.codec {
            CODEC_LZ4 => "lz4",
            CODEC_ZSTD => "zstd",
            _ => "unknown codec",
        }
    }
}
