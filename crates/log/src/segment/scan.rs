//! Physical records of a segment, streamed in bounded memory.

use crate::{
    block::{Decoded, Expect, Invalid, Kind, decode},
    disk::DiskFile,
};
use std::{io, ops::Range, sync::Arc};

/// Read ahead this much at once, in bytes; a multiple of the block sizes below it.
const CHUNK: usize = 256 << 10;

/// A position in a segment and what has been read around it.
pub(crate) struct Scanner {
    file: Arc<dyn DiskFile>,
    expect: Expect,
    block_size: usize,
    /// Nothing at or beyond this offset is looked at.
    limit: u64,
    /// What the buffer holds begins here, at a block's start.
    base: u64,
    buffer: Vec<u8>,
    /// Next offset to look at.
    at: u64,
}

/// What is next in a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// A physical record; `Scanner::payload` gives its bytes until the next step.
    Physical {
        offset: u64,
        kind: Kind,
        payload: Range<usize>,
    },
    /// Nothing more: zeros or the limit.
    End { offset: u64 },
    /// Bytes that are no record.
    Invalid { offset: u64, reason: Invalid },
}

impl Scanner {
    /// Reads from `at`, where a physical record begins, up to `limit`.
    pub(crate) fn new(
        file: Arc<dyn DiskFile>,
        number: u64,
        block_size_bytes: u32,
        at: u64,
        limit: u64,
    ) -> Scanner {
        Scanner {
            file,
            expect: Expect::Number(number as u32),
            block_size: block_size_bytes as usize,
            limit,
            base: 0,
            buffer: Vec::new(),
            at,
        }
    }

    /// The offset of what the next step looks at, but for a block's unused tail.
    pub(crate) fn offset(&self) -> u64 {
        self.at
    }

    /// The bytes of the last step's payload.
    pub(crate) fn payload(&self, range: Range<usize>) -> &[u8] {
        self.buffer.get(range).unwrap_or_default()
    }

    /// The next physical record. After `End` and `Invalid` it stays where it is.
    pub(crate) fn step(&mut self) -> io::Result<Step> {
        loop {
            if self.at >= self.limit {
                return Ok(Step::End { offset: self.at });
            }
            self.fill()?;
            if self.at >= self.limit {
                continue;
            }
            let in_buffer = (self.at - self.base) as usize;
            let start = in_buffer - in_buffer % self.block_size;
            let end = (start + self.block_size).min(self.buffer.len());
            let block = self.buffer.get(start..end).unwrap_or_default();
            let whole = block.len() == self.block_size;
            let at = in_buffer - start;
            match decode(block, at, self.expect) {
                Decoded::Record { kind, payload } => {
                    let offset = self.at;
                    let next = self.base + (start + payload.end) as u64;
                    self.at = match kind {
                        Kind::Pad => self.base + (start + self.block_size) as u64,
                        _ => next,
                    };
                    return Ok(Step::Physical {
                        offset,
                        kind,
                        payload: start + payload.start..start + payload.end,
                    });
                }
                // Nothing is served from a block's tail, so its bytes are not looked at.
                Decoded::Tail if whole => {
                    self.at = self.base + (start + self.block_size) as u64;
                }
                Decoded::Tail if block[at..].iter().all(|&byte| byte == 0) => {
                    return Ok(Step::End { offset: self.at });
                }
                Decoded::Tail => {
                    return Ok(Step::Invalid {
                        offset: self.at,
                        reason: Invalid::Short,
                    });
                }
                Decoded::Zero => return Ok(Step::End { offset: self.at }),
                Decoded::Invalid(reason) => {
                    let reason = if !whole && reason == Invalid::Length {
                        Invalid::Short
                    } else {
                        reason
                    };
                    return Ok(Step::Invalid {
                        offset: self.at,
                        reason,
                    });
                }
            }
        }
    }

    /// Makes the buffer hold the block of `at`, cut at the limit.
    fn fill(&mut self) -> io::Result<()> {
        let end = self.base + self.buffer.len() as u64;
        if self.at >= self.base && self.at < end {
            return Ok(());
        }
        let size = self.block_size as u64;
        self.base = self.at - self.at % size;
        let wanted = (CHUNK.max(self.block_size) as u64).min(self.limit - self.base) as usize;
        self.buffer.resize(wanted, 0);
        let read = self.file.read_at(&mut self.buffer, self.base)?;
        self.buffer.truncate(read);
        if self.base + read as u64 <= self.at {
            self.limit = self.at;
        }
        Ok(())
    }
}
