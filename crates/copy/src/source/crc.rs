//! Checksums of LevelDB and RocksDB.

/// A CRC as they store it.
pub(super) fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}
