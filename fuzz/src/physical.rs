//! Physical records as docs/formats.md has them, laid out without the code under test.

/// Type byte of a segment header.
pub const SEGMENT_HEADER: u8 = 192;
/// Type byte of the rest of a block.
pub const PAD: u8 = 196;
/// Bytes of the legacy header.
const LEGACY: usize = 7;
/// Bytes of the header with a log number.
const NUMBERED: usize = 11;

/// Whose log it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// Types from 192 on have a log number that their length counts.
    Dunlin,
    /// All of RocksDB's types, and no other.
    RocksDb,
}

/// LevelDB's masked CRC-32C.
fn masked(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
        .rotate_right(15)
        .wrapping_add(0xa282_ead8)
}

/// Appends a record with a log number.
pub fn append(out: &mut Vec<u8>, code: u8, number: u32, payload: &[u8]) {
    let start = out.len();
    let counted = payload.len() + if code >= SEGMENT_HEADER { 4 } else { 0 };
    out.extend([0; 4]);
    out.extend((counted as u16).to_le_bytes());
    out.push(code);
    out.extend(number.to_le_bytes());
    out.extend(payload);
    let checksum = masked(&out[start + 6..]);
    out[start..start + 4].copy_from_slice(&checksum.to_le_bytes());
}

/// Where the record at the beginning of `bytes` ends, by its type and length.
fn end(bytes: &[u8], owner: Owner) -> Option<usize> {
    let &[_, _, _, _, l0, l1, code] = bytes.first_chunk::<LEGACY>()?;
    let counted = usize::from(u16::from_le_bytes([l0, l1]));
    let (least, uncounted) = match (code, owner) {
        (0, _) if counted == 0 => return None,
        (5..=8 | 11 | 131, _) => (NUMBERED, NUMBERED),
        (SEGMENT_HEADER.., Owner::Dunlin) => (NUMBERED, LEGACY),
        _ => (LEGACY, LEGACY),
    };
    let end = uncounted + counted;
    (end >= least && end <= bytes.len()).then_some(end)
}

/// Puts the checksums of all records right that can be reached from the beginning of their block.
/// True when a compressed batch is among them.
pub fn seal(bytes: &mut [u8], block_size: usize, owner: Owner) -> bool {
    let mut batches = false;
    for block in bytes.chunks_mut(block_size) {
        let mut at = 0;
        while let Some(length) = end(&block[at..], owner) {
            let record = &mut block[at..at + length];
            let checksum = masked(&record[6..]);
            record[..4].copy_from_slice(&checksum.to_le_bytes());
            let code = record[6];
            batches |= (200..=203).contains(&code);
            if owner == Owner::Dunlin && code == PAD {
                break;
            }
            at += length;
        }
    }
    batches
}
