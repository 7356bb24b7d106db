//! A batch to its records.

use super::{
    CODEC_LZ4, CODEC_ZSTD, CompressedBatch, HEADER, LENGTH, RAW_BYTES_MAX, RAW_BYTES_MAX_ALONE,
    Tally, split,
};
use std::io;
use zstd::bulk::Decompressor;

/// Decompresses batches and gives their records one by one. Memory is bounded by the largest
/// batch there may be, whatever the bytes claim.
#[derive(Default)]
pub(crate) struct Unpacker {
    zstd: Option<Decompressor<'static>>,
    raw: Vec<u8>,
    /// Where in `raw` the next record's length is.
    at: usize,
    /// Records still to be given.
    left: u32,
}

impl Unpacker {
    /// Takes a batch's payload and checks all of it. None, and nothing to give, when it is not
    /// exactly what the writer writes.
    ///
    /// # Errors
    /// No memory for zstd.
    pub(crate) fn unpack(&mut self, payload: &[u8]) -> io::Result<Option<Tally>> {
        self.left = 0;
        self.at = 0;
        let Some(head) = CompressedBatch::parse(payload) else {
            return Ok(None);
        };
        let compressed = &payload[HEADER..];
        let (count, length) = (head.count, head.raw_bytes as usize);
        let limit = match count {
            0 => return Ok(None),
            1 => RAW_BYTES_MAX_ALONE,
            _ => RAW_BYTES_MAX,
        };
        if length > limit || length / LENGTH < count as usize {
            return Ok(None);
        }
        if self.raw.len() > RAW_BYTES_MAX.max(length) {
            self.raw = Vec::new();
        }
        self.raw.resize(length, 0);
        let given = match head.codec {
            CODEC_LZ4 => lz4_flex::block::decompress_into(compressed, &mut self.raw).ok(),
            CODEC_ZSTD => {
                let context = match &mut self.zstd {
                    Some(context) => context,
                    empty => empty.insert(Decompressor::new()?),
                };
                context
                    .decompress_to_buffer(compressed, self.raw.as_mut_slice())
                    .ok()
            }
            _ => None,
        };
        if given != Some(length) || !self.is_whole(count) {
            return Ok(None);
        }
        self.left = count;
        Ok(Some(Tally {
            batches: 1,
            raw_bytes: (length - LENGTH * count as usize) as u64,
            compressed_bytes: payload.len() as u64,
        }))
    }

    /// Whether the lengths lead through `raw` to its very end.
    fn is_whole(&self, count: u32) -> bool {
        let mut rest = self.raw.as_slice();
        for _ in 0..count {
            let Some((_, after)) = split(rest) else {
                return false;
            };
            rest = after;
        }
        rest.is_empty()
    }

    /// Memory held, in bytes.
    #[cfg(test)]
    pub(super) fn memory_bytes(&self) -> usize {
        self.raw.capacity()
    }

    /// Whether there are records to give.
    pub(crate) fn has_more(&self) -> bool {
        self.left > 0
    }

    /// The next record of the batch.
    pub(crate) fn next(&mut self) -> Option<&[u8]> {
        self.left = self.left.checked_sub(1)?;
        let (record, _) = split(self.raw.get(self.at..)?)?;
        self.at += LENGTH + record.len();
        Some(record)
    }
}
