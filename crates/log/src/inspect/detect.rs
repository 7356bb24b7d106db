//! Whose log a file is.

use super::{
    SegmentHeader,
    code::{Code, Use},
    physical::{At, number_at, parse},
};
use crate::{
    block::{LEGACY_HEADER, RECYCLABLE_HEADER},
    options::{BLOCK_SIZE_BYTES_MAX, BLOCK_SIZE_BYTES_MIN, is_block_size},
    segment::{SegmentSettings, header},
};
use std::io;

/// The first bytes of a file that are looked at, at least.
pub(super) const PREFIX_BYTES: usize = 256 << 10;
/// What every segment has at this offset.
const MAGIC_AT: usize = RECYCLABLE_HEADER;
const MAGIC: &[u8] = b"DUNLOG\0";

/// What is known of a file before it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Block size in bytes of a log that does not say it itself: a power of two from 4 KiB to
    /// 1 MiB. RocksDB's and LevelDB's is 32 KiB.
    pub block_size_bytes: u32,
    /// The log's number (its low 32 bits), as its file name tells. None takes it from the first
    /// record that has one.
    pub number: Option<u32>,
    /// Bytes of one logical record kept in memory; the rest of a larger one is counted only.
    pub record_bytes_max: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            block_size_bytes: 32 << 10,
            number: None,
            record_bytes_max: 256 << 20,
        }
    }
}

/// Who writes such files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A Dunlin segment.
    Dunlin,
    /// A log of RocksDB or LevelDB.
    RocksDb,
}

/// How a file is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Who writes such files.
    pub form: Form,
    /// Block size in bytes.
    pub block_size_bytes: u32,
    /// The settings a Dunlin segment was begun with; none when its header is damaged.
    pub settings: Option<SegmentSettings>,
    /// The log number (low 32 bits) its records carry, as far as is known.
    pub number: Option<u32>,
}

/// Why a file is not inspected.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// There is nothing to inspect: no log was begun in this file.
    #[error("the file is empty")]
    Empty,
    /// Give another file, or the block size it was written with.
    #[error("not a log: no record of Dunlin, RocksDB or LevelDB at its beginning")]
    NotALog,
    /// Give a power of two in the range.
    #[error(
        "block size {0}: it must be a power of two from {BLOCK_SIZE_BYTES_MIN} to {BLOCK_SIZE_BYTES_MAX}"
    )]
    BlockSize(u32),
    /// Reading failed; try again or take another copy.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Tells from the first bytes of a file what it is.
pub(super) fn detect(prefix: &[u8], settings: &Settings) -> Result<Layout, InspectError> {
    if !is_block_size(settings.block_size_bytes) {
        return Err(InspectError::BlockSize(settings.block_size_bytes));
    }
    if prefix.is_empty() {
        return Err(InspectError::Empty);
    }
    if let Some(layout) = dunlin(prefix, settings) {
        return Ok(layout);
    }
    if !is_rocksdb(prefix, settings.block_size_bytes as usize) {
        Err(InspectError::NotALog)
    } else {
        Ok(Layout {
            form: Form::RocksDb,
            block_size_bytes: settings.block_size_bytes,
            settings: None,
            number: settings.number,
        })
    }
}

/// A segment, though its header may be damaged: then its block size is the one given.
fn dunlin(prefix: &[u8], settings: &Settings) -> Option<Layout> {
    let is_whole = |at: &At| {
        matches!(at, At::Record(found)
            if found.code.meaning(true) == Use::SegmentHeader)
    };
    let header = match parse(prefix, 0, true, true) {
        at @ At::Record(_) if is_whole(&at) => prefix
            .get(RECYCLABLE_HEADER..RECYCLABLE_HEADER + header::LENGTH)
            .and_then(|payload| SegmentHeader::decode(payload).ok()),
        _ => {
            let magic = prefix.get(MAGIC_AT..)?.starts_with(MAGIC);
            let counted = (header::LENGTH + RECYCLABLE_HEADER - LEGACY_HEADER) as u16;
            let shape = prefix[LEGACY_HEADER - 1] == 192
                && prefix[LEGACY_HEADER - 3..LEGACY_HEADER - 1] == counted.to_le_bytes();
            if !magic && !shape {
                return None;
            }
            None
        }
    };
    Some(Layout {
        form: Form::Dunlin,
        block_size_bytes: header
            .map_or(settings.block_size_bytes, |header| header.block_size_bytes),
        settings: header.map(|header| header.settings()),
        number: settings
            .number
            .or(header.map(|header| header.number as u32))
            .or(number_at(prefix)),
    })
}

/// A block of it begins with a record; or its first record is damaged or cut off, but something
/// like a header stands before it.
fn is_rocksdb(prefix: &[u8], block_size: usize) -> bool {
    if prefix.iter().all(|&byte| byte == 0) {
        return prefix.len() >= LEGACY_HEADER;
    }
    let is_record = |block: &[u8], at| {
        matches!(parse(block, at, false, true), At::Record(found)
            if found.code.meaning(false) != Use::Unknown)
    };
    if prefix.chunks(block_size).any(|block| is_record(block, 0)) {
        return true;
    }
    let block = &prefix[..prefix.len().min(block_size)];
    let Some(&[_, _, _, _, l0, l1, code]) = block.first_chunk::<LEGACY_HEADER>() else {
        return false;
    };
    let end = Code(code).header(false).bytes + usize::from(u16::from_le_bytes([l0, l1]));
    let fits = (1..=8).contains(&code) && end <= block_size;
    // The file ends within this record, or behind it, or another one follows.
    fits && (end >= block.len()
        || is_record(block, end)
        || block[end..].iter().all(|&byte| byte == 0))
}
