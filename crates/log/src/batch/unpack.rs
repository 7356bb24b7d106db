//! A batch to its records.

use super::{
    CODEC_LZ4, CODEC_ZSTD, CompressedBatch, HEADER, LENGTH, RAW_BYTES_MAX, RAW_BYTES_MAX_ALONE,
    Tally, split, split_all,
};
use bytes::{Bytes, BytesMut};
use std::{io, mem, ops::Range};
use zstd::bulk::Decompressor;

/// Decompresses batches and gives their records one by one. Memory is bounded by the largest
/// batch there may be, whatever the bytes claim.
#[derive(Default)]
pub(crate) struct Unpacker {
    zstd: Option<Decompressor<'static>>,
    raw: Bytes,
    /// Where in `raw` the last record given is.
    last: Range<usize>,
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
        self.last = 0..0;
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
            self.raw = Bytes::new();
        }
        // What nobody was given is used again.
        let mut raw = match mem::take(&mut self.raw).try_into_mut() {
            Ok(raw) => raw,
            Err(_) => BytesMut::new(),
        };
        raw.resize(length, 0);
        let given = match head.codec {
            CODEC_LZ4 => lz4_flex::block::decompress_into(compressed, &mut raw).ok(),
            CODEC_ZSTD => {
                let context = match &mut self.zstd {
                    Some(context) => context,
                    empty => empty.insert(Decompressor::new()?),
                };
                context.decompress_to_buffer(compressed, &mut raw[..]).ok()
            }
            _ => None,
        };
        self.raw = raw.freeze();
        if given != Some(length) || !self.is_whole(count) {
            return Ok(None);
        }
        self.left = count;
        Ok(Some(Tally {
            batches: 1,
            records: u64::from(count),
            raw_bytes: head.payload_bytes(),
            compressed_bytes: payload.len() as u64,
        }))
    }

    /// Whether the lengths lead through `raw` to its very end.
    fn is_whole(&self, count: u32) -> bool {
        let mut rest = &self.raw[..];
        for _ in 0..count {
            let Some((_, after)) = split(rest) else {
                return false;
            };
            rest = after;
        }
        rest.is_empty()
    }

    /// The records still to be given.
    pub(crate) fn records(&self) -> impl Iterator<Item = &[u8]> {
        split_all(self.raw.get(self.last.end..).unwrap_or_default()).take(self.left as usize)
    }

    /// Memory held, in bytes.
    #[cfg(test)]
    pub(super) fn memory_bytes(&self) -> usize {
        self.raw.len()
    }

    /// Whether there are records to give.
    pub(crate) fn has_more(&self) -> bool {
        self.left > 0
    }

    /// Length of the next record of the batch; `record` gives its bytes.
    pub(crate) fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let (record, _) = split(self.raw.get(self.last.end..)?)?;
        let start = self.last.end + LENGTH;
        self.last = start..start + record.len();
        Some(record.len())
    }

    /// The record that `next` gave last, sharing the memory of its batch.
    pub(crate) fn record(&self) -> Bytes {
        self.raw.slice(self.last.clone())
    }

    /// Forgets the batch.
    pub(crate) fn clear(&mut self) {
        self.left = 0;
        self.shrink();
    }

    /// Gives back the memory that one huge record took.
    pub(crate) fn shrink(&mut self) {
        if self.left == 0 && self.raw.len() > RAW_BYTES_MAX {
            self.raw = Bytes::new();
            self.last = 0..0;
        }
    }
}
