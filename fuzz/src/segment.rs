//! A segment's header as docs/formats.md has it, laid out without the code under test.

use crate::physical::{self, Owner, SEGMENT_HEADER};

const MAGIC: &[u8; 8] = b"DUNLOG\0\x02";
/// Where in a file the header's payload begins.
const PAYLOAD: usize = 11;

/// Appends the record that begins segment `number`, with the first index 1 and no predecessor.
pub fn begin(out: &mut Vec<u8>, number: u64, block_size_bytes: u32) {
    let mut payload = MAGIC.to_vec();
    payload.extend(number.to_le_bytes());
    payload.extend(1_u64.to_le_bytes());
    payload.extend(block_size_bytes.to_le_bytes());
    payload.extend([0; 2]);
    payload.extend(0_u64.to_le_bytes());
    payload.extend([0; 2]);
    physical::append(out, SEGMENT_HEADER, number as u32, &payload);
}

/// The block size a file's header gives, when it is a possible one; else the least.
pub fn block_size(file: &[u8]) -> usize {
    file.get(PAYLOAD + 24..)
        .and_then(|bytes| bytes.first_chunk())
        .map(|bytes| u32::from_le_bytes(*bytes) as usize)
        .filter(|size| size.is_power_of_two() && (4 << 10..=1 << 20).contains(size))
        .unwrap_or(4 << 10)
}

/// Puts all checksums of a file right; true when compressed batches are in it.
pub fn seal(file: &mut [u8]) -> bool {
    let block_size = block_size(file);
    physical::seal(file, block_size, Owner::Dunlin)
}
