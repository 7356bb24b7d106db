//! Settings of a log.

use crate::error::OpenError;
use std::{fmt, str::FromStr};

/// What happens to the room at the end of a block that the next record does not fit in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Padding {
    /// Records are split over what is left of the block; no room is lost.
    #[default]
    Fragment,
    /// The rest of the block stays empty and the record starts in the next block, so that a record
    /// that fits in a block is never split.
    Pad,
}

impl Padding {
    pub(crate) fn code(self) -> u8 {
        match self {
            Padding::Fragment => 0,
            Padding::Pad => 1,
        }
    }

    pub(crate) fn from_code(code: u8) -> Option<Padding> {
        match code {
            0 => Some(Padding::Fragment),
            1 => Some(Padding::Pad),
            _ => None,
        }
    }
}

impl fmt::Display for Padding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Padding::Fragment => "fragment",
            Padding::Pad => "pad",
        })
    }
}

impl FromStr for Padding {
    type Err = WrongWord;

    fn from_str(word: &str) -> Result<Padding, WrongWord> {
        match word {
            "fragment" => Ok(Padding::Fragment),
            "pad" => Ok(Padding::Pad),
            _ => Err(WrongWord::new(word, "padding", "fragment or pad")),
        }
    }
}

/// What the records of a group are compressed with, together, where that makes them smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// Nothing: every record stands by itself.
    #[default]
    None,
    /// LZ4: fast, about half the size.
    Lz4,
    /// zstd at level 1: smaller, for more of the processor.
    Zstd,
}

impl Compression {
    pub(crate) fn code(self) -> u8 {
        match self {
            Compression::None => 0,
            Compression::Lz4 => 1,
            Compression::Zstd => 2,
        }
    }

    pub(crate) fn from_code(code: u8) -> Option<Compression> {
        match code {
            0 => Some(Compression::None),
            1 => Some(Compression::Lz4),
            2 => Some(Compression::Zstd),
            _ => None,
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compression::None => "none",
            Compression::Lz4 => "lz4",
            Compression::Zstd => "zstd",
        })
    }
}

impl FromStr for Compression {
    type Err = WrongWord;

    fn from_str(word: &str) -> Result<Compression, WrongWord> {
        match word {
            "none" => Ok(Compression::None),
            "lz4" => Ok(Compression::Lz4),
            "zstd" => Ok(Compression::Zstd),
            _ => Err(WrongWord::new(word, "compression", "none, lz4 or zstd")),
        }
    }
}

/// A setting's value that is none of its words; the message names them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is no {setting}; write {words}")]
pub struct WrongWord {
    word: String,
    setting: &'static str,
    words: &'static str,
}

impl WrongWord {
    fn new(word: &str, setting: &'static str, words: &'static str) -> WrongWord {
        WrongWord {
            word: word.to_owned(),
            setting,
            words,
        }
    }
}

/// Smallest block size allowed, in bytes.
pub const BLOCK_SIZE_BYTES_MIN: u32 = 4 << 10;
/// Largest block size allowed, in bytes.
pub const BLOCK_SIZE_BYTES_MAX: u32 = 1 << 20;

/// Settings of a log. Block size, padding, compression and direct I/O take effect in the next new
/// segment; every segment says in its header how it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Block size in bytes: a power of two from 4 KiB to 1 MiB.
    pub block_size_bytes: u32,
    /// What happens at the end of a block.
    pub padding: Padding,
    /// What groups are compressed with.
    pub compression: Compression,
    /// Whether segments are written past the page cache (`O_DIRECT`), where the file system allows
    /// it; where it does not they are written through it, and `SegmentSettings` says so.
    pub direct_io: bool,
    /// Size in bytes a segment is preallocated to, and at which `should_rotate` says so.
    pub segment_bytes: u64,
    /// Bytes of the newest written records kept in memory for cursors.
    pub tail_bytes: usize,
    /// Bytes of records accepted but not yet written, above which `append` refuses with `Backlog`.
    pub backlog_bytes: usize,
    /// Segments preallocated ahead of the active one.
    pub spare_segments: usize,
    /// Unsynced bytes after which the disk is given them, behind the commits, though nobody asked for
    /// a sync: the next one is short then, and nobody waits long behind it. 0 for never.
    pub write_behind_bytes: u64,
    /// Whether released segments become spare ones (true) or are removed.
    pub recycle: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            block_size_bytes: 32 << 10,
            padding: Padding::Fragment,
            compression: Compression::None,
            direct_io: false,
            segment_bytes: 32 << 20,
            tail_bytes: 16 << 20,
            backlog_bytes: 32 << 20,
            spare_segments: 1,
            write_behind_bytes: 0,
            recycle: true,
        }
    }
}

impl Options {
    /// Refuses settings no log can be written with.
    ///
    /// # Errors
    /// `OpenError::Options` names the setting to change.
    pub fn validate(&self) -> Result<(), OpenError> {
        let block = self.block_size_bytes;
        if !is_block_size(block) {
            return Err(OpenError::Options(format!(
                "block_size_bytes is {block}; it must be a power of two from {BLOCK_SIZE_BYTES_MIN} to {BLOCK_SIZE_BYTES_MAX}"
            )));
        }
        if self.segment_bytes < 2 * u64::from(block) {
            return Err(OpenError::Options(format!(
                "segment_bytes is {}; it must be at least two blocks ({})",
                self.segment_bytes,
                2 * u64::from(block)
            )));
        }
        Ok(())
    }
}

/// Whether `bytes` is an allowed block size.
pub fn is_block_size(bytes: u32) -> bool {
    bytes.is_power_of_two() && (BLOCK_SIZE_BYTES_MIN..=BLOCK_SIZE_BYTES_MAX).contains(&bytes)
}
