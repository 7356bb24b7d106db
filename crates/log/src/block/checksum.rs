//! LevelDB's masked CRC-32C.

/// Masks a checksum, so that a checksum stored in checksummed bytes does not weaken it.
pub(crate) fn mask(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}
