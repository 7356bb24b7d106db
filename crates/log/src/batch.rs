//! Compressed batches: consecutive records of a group, stored as one payload.
//! The format is docs/formats.md section 1.

mod head;
mod pack;
mod unpack;

pub use head::CompressedBatch;
pub(crate) use pack::Packer;
pub(crate) use unpack::Unpacker;

/// Most bytes of several records together, with their lengths, before compression.
const RAW_BYTES_MAX: usize = 256 << 10;
/// The same for a record alone; a larger one is not compressed.
const RAW_BYTES_MAX_ALONE: usize = 64 << 20;
/// Codec, count, raw length.
const HEADER: usize = 9;
/// The length before each record.
const LENGTH: usize = 4;
/// No batch's payload is longer: one that did not get smaller is not written.
pub(crate) const PAYLOAD_BYTES_MAX: usize = HEADER + RAW_BYTES_MAX_ALONE;

const CODEC_LZ4: u8 = 1;
const CODEC_ZSTD: u8 = 2;

/// What a batch saved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Batches.
    pub batches: u64,
    /// Records in them.
    pub records: u64,
    /// Payload bytes of those.
    pub raw_bytes: u64,
    /// Payload bytes of the batches.
    pub compressed_bytes: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.batches += other.batches;
        self.records += other.records;
        self.raw_bytes += other.raw_bytes;
        self.compressed_bytes += other.compressed_bytes;
    }
}

/// The first record behind its length, and what follows it.
fn split(raw: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, after) = raw.split_first_chunk::<LENGTH>()?;
    after.split_at_checked(u32::from_le_bytes(*length) as usize)
}

/// Every record, up to where there is no whole one.
fn split_all(raw: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = raw;
    std::iter::from_fn(move || {
        let (record, after) = split(rest)?;
        rest = after;
        Some(record)
    })
}

#[cfg(test)]
#[path = "batch_tests.rs"]
mod tests;
