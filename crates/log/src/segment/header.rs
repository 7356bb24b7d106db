//! The segment header: the first record of every segment.

use crate::{
    Index,
    options::{Compression, Padding, is_block_size},
    segment::SegmentSettings,
};

const MAGIC: [u8; 7] = *b"DUNLOG\0";
/// Version of the format: the byte behind the magic.
const VERSION: u8 = 2;
/// Numbers and indices begin at 1, and nobody writes this many: what is added to them fits.
const NUMBER_MAX: u64 = 1 << 62;
/// Encoded length in bytes.
pub(crate) const LENGTH: usize = 40;

/// What a segment says of itself and of its predecessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The segment number.
    pub number: u64,
    /// Index of its first logical record, the preamble.
    pub first_index: Index,
    /// Block size in bytes.
    pub block_size_bytes: u32,
    /// What happens at the end of a block.
    pub padding: Padding,
    /// All `previous_length` bytes of the predecessor were on disk before this segment was begun.
    pub previous_synced: bool,
    /// Length of the predecessor in bytes, 0 when there is none.
    pub previous_length: u64,
    /// What its groups are compressed with, where that makes them smaller.
    pub compression: Compression,
    /// Whether it was begun with direct I/O.
    pub direct_io: bool,
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> [u8; LENGTH] {
        let mut out = [0; LENGTH];
        out[..7].copy_from_slice(&MAGIC);
        out[7] = VERSION;
        out[8..16].copy_from_slice(&self.number.to_le_bytes());
        out[16..24].copy_from_slice(&self.first_index.to_le_bytes());
        out[24..28].copy_from_slice(&self.block_size_bytes.to_le_bytes());
        out[28] = self.padding.code();
        out[29] = u8::from(self.previous_synced);
        out[30..38].copy_from_slice(&self.previous_length.to_le_bytes());
        out[38] = self.compression.code();
        out[39] = u8::from(self.direct_io);
        out
    }

    /// The reason when it is not a header this version writes.
    pub(crate) fn decode(bytes: &[u8]) -> Result<SegmentHeader, &'static str> {
        match bytes.strip_prefix(&MAGIC) {
            Some([VERSION, ..]) => {}
            Some([1, ..]) => {
                return Err(
                    "format version 1, written before the first release; this is version 2",
                );
            }
            Some(_) => return Err("another format version than 2"),
            None => return Err("another magic"),
        }
        let bytes: &[u8; LENGTH] = bytes.try_into().map_err(|_| "header of another length")?;
        let block_size_bytes = u32::from_le_bytes([bytes[24], bytes[25], bytes[26], bytes[27]]);
        if !is_block_size(block_size_bytes) {
            return Err("impossible block size");
        }
        let (number, first_index) = (u64_at(bytes, 8), u64_at(bytes, 16));
        if !(1..=NUMBER_MAX).contains(&number) {
            return Err("impossible segment number");
        }
        if !(1..=NUMBER_MAX).contains(&first_index) {
            return Err("impossible first index");
        }
        Ok(SegmentHeader {
            number,
            first_index,
            block_size_bytes,
            padding: Padding::from_code(bytes[28]).ok_or("unknown padding")?,
            previous_synced: bytes[29] == 1,
            previous_length: u64_at(bytes, 30),
            compression: Compression::from_code(bytes[38]).ok_or("unknown compression")?,
            direct_io: bytes[39] == 1,
        })
    }

    /// The settings it tells of.
    pub fn settings(&self) -> SegmentSettings {
        SegmentSettings {
            block_size_bytes: self.block_size_bytes,
            padding: self.padding,
            compression: self.compression,
            direct_io: self.direct_io,
        }
    }
}

fn u64_at(bytes: &[u8; LENGTH], at: usize) -> u64 {
    let mut value = [0; 8];
    value.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(value)
}

#[cfg(test)]
#[path = "header_tests.rs"]
mod tests;
