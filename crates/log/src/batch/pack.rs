//! Records to a batch.

use super::{
    CODEC_LZ4, CODEC_ZSTD, HEADER, LENGTH, RAW_BYTES_MAX, RAW_BYTES_MAX_ALONE, Tally, split_all,
};
use crate::{block::RECYCLABLE_HEADER, options::Compression};
use lz4_flex::block::{CompressTable, compress_into_with_table, get_maximum_output_size};
use std::io;
use zstd::bulk::Compressor;

/// zstd's fastest level that is not a makeshift: the log is written once and seldom read.
const ZSTD_LEVEL: i32 = 1;
/// A buffer larger than this, in bytes, was for a record alone and is given back.
const KEPT_BYTES: usize = 2 * RAW_BYTES_MAX;

enum Codec {
    Lz4(CompressTable),
    Zstd(Compressor<'static>),
}

/// Gathers records and compresses them together.
pub(crate) struct Packer {
    codec: Codec,
    /// What is compressed: each record behind its length.
    raw: Vec<u8>,
    count: u32,
    /// The payload, header included.
    packed: Vec<u8>,
}

impl Packer {
    /// None when nothing is to be compressed.
    pub(crate) fn new(compression: Compression) -> io::Result<Option<Packer>> {
        let codec = match compression {
            Compression::None => return Ok(None),
            Compression::Lz4 => Codec::Lz4(CompressTable::large()),
            Compression::Zstd => Codec::Zstd(Compressor::new(ZSTD_LEVEL)?),
        };
        Ok(Some(Packer {
            codec,
            raw: Vec::new(),
            count: 0,
            packed: Vec::new(),
        }))
    }

    /// Whether a record of this length may be in a batch at all.
    pub(crate) fn takes(length: usize) -> bool {
        length <= RAW_BYTES_MAX_ALONE - LENGTH
    }

    /// Whether a record of this length may join those gathered.
    pub(crate) fn has_room(&self, length: usize) -> bool {
        self.count == 0 || self.raw.len() + LENGTH + length <= RAW_BYTES_MAX
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Gathers a record, for which there must be room.
    pub(crate) fn push(&mut self, record: &[u8]) {
        self.raw
            .extend_from_slice(&(record.len() as u32).to_le_bytes());
        self.raw.extend_from_slice(record);
        self.count += 1;
    }

    /// The batch, and what it saves. None when the records take fewer bytes by themselves.
    pub(crate) fn pack(&mut self) -> Option<(&[u8], Tally)> {
        let code = match self.codec {
            Codec::Lz4(_) => CODEC_LZ4,
            Codec::Zstd(_) => CODEC_ZSTD,
        };
        let bound = match self.codec {
            Codec::Lz4(_) => get_maximum_output_size(self.raw.len()),
            Codec::Zstd(_) => zstd::compress_bound(self.raw.len()),
        };
        if self.packed.len() < HEADER + bound {
            self.packed.resize(HEADER + bound, 0);
        }
        let (header, output) = self.packed.split_at_mut(HEADER);
        // Neither fails with an output that large; if one did, the records go as they are.
        let length = match &mut self.codec {
            Codec::Lz4(table) => compress_into_with_table(&self.raw, output, table).ok(),
            Codec::Zstd(context) => context.compress_to_buffer(&self.raw, output).ok(),
        }?;
        header[0] = code;
        header[1..5].copy_from_slice(&self.count.to_le_bytes());
        header[5..].copy_from_slice(&(self.raw.len() as u32).to_le_bytes());
        let count = self.count as usize;
        let payload = self.raw.len() - LENGTH * count;
        let packed = self.packed.get(..HEADER + length)?;
        let tally = Tally {
            batches: 1,
            records: u64::from(self.count),
            raw_bytes: payload as u64,
            compressed_bytes: packed.len() as u64,
        };
        (RECYCLABLE_HEADER + packed.len() < RECYCLABLE_HEADER * count + payload)
            .then_some((packed, tally))
    }

    /// The records gathered.
    pub(crate) fn records(&self) -> impl Iterator<Item = &[u8]> {
        split_all(&self.raw)
    }

    /// Memory held, in bytes.
    #[cfg(test)]
    pub(super) fn memory_bytes(&self) -> usize {
        self.raw.capacity() + self.packed.capacity()
    }

    /// Forgets the records gathered.
    pub(crate) fn clear(&mut self) {
        self.raw.clear();
        self.count = 0;
        if self.packed.len() > KEPT_BYTES {
            self.raw.shrink_to(RAW_BYTES_MAX);
            self.packed = Vec::new();
        }
    }
}
