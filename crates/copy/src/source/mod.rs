//! The source: a checkpoint of it, and what is in that.

pub(crate) mod blob;
pub(crate) mod checkpoint;
pub(crate) mod database;
pub(crate) mod directory;
pub(crate) mod ranges;
pub(crate) mod table;

/// A CRC as LevelDB and RocksDB store it.
fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}
