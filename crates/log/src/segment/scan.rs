//! Physical records of a segment, streamed in bounded memory.

use crate::{
    block::{Decoded, Expect, Full, Invalid, Kind, decode},
    disk::DiskFile,
};
use bytes::Bytes;
use std::{io, mem, ops::Range, sync::Arc};

/// Read ahead this much at once, in bytes; a multiple of the block sizes below it.
const CHUNK: usize = 256 << 10;

/// A position in a segment and what has been read around it.
pub(crate) struct Scanner {
    file: Arc<dyn DiskFile>,
    expect: Expect,
    full: Full,
    /// A power of two.
    block_size: usize,
    /// Nothing at or beyond this offset is looked at.
    limit: u64,
    /// The chunk begins here, at a block's start.
    base: u64,
    /// What was read last. Payloads of it are handed out without a copy.
    chunk: Bytes,
    /// What is looked at next, in the chunk; at its end or beyond when that is not read yet.
    at: usize,
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
    /// Reads from the beginning up to `limit`.
    pub(crate) fn new(
        file: Arc<dyn DiskFile>,
        number: u64,
        block_size_bytes: u32,
        limit: u64,
    ) -> Scanner {
        Scanner {
            file,
            expect: Expect::Number(number as u32),
            full: Full::of(number as u32),
            block_size: block_size_bytes as usize,
            limit,
            base: 0,
            chunk: Bytes::new(),
            at: 0,
        }
    }

    /// The offset of what the next step looks at, but for a block's unused tail.
    pub(crate) fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// The bytes of the last step's payload.
    pub(crate) fn payload(&self, range: Range<usize>) -> &[u8] {
        self.chunk.get(range).unwrap_or_default()
    }

    /// The same, sharing the memory of what was read.
    pub(crate) fn shared(&self, range: Range<usize>) -> Bytes {
        if range.end <= self.chunk.len() {
            self.chunk.slice(range)
        } else {
            Bytes::new()
        }
    }

    /// Reads up to another limit, when more has been written since.
    pub(crate) fn set_limit(&mut self, limit: u64) {
        let end = self.base + self.chunk.len() as u64;
        if limit != self.limit && end >= self.limit.min(limit) {
            // The last block was cut short, or is to be.
            self.forget();
        }
        self.limit = limit;
    }

    /// Gives back what was read.
    fn forget(&mut self) {
        let offset = self.offset();
        self.base = offset - offset % self.block_size as u64;
        self.at = (offset - self.base) as usize;
        self.chunk = Bytes::new();
    }

    /// Steps over a record that is whole, valid and in the chunk, and gives its payload. None when
    /// anything else is next: `step` tells what.
    #[inline]
    pub(crate) fn full(&mut self) -> Option<Range<usize>> {
        let end = ((self.at | (self.block_size - 1)) + 1).min(self.chunk.len());
        let payload = self.full.at(self.chunk.get(..end)?, self.at)?;
        self.at = payload.end;
        Some(payload)
    }

    /// The next physical record. After `End` and `Invalid` it stays where it is.
    pub(crate) fn step(&mut self) -> io::Result<Step> {
        loop {
            let offset = self.offset();
            if offset >= self.limit {
                return Ok(Step::End { offset });
            }
            self.fill()?;
            if offset >= self.limit {
                continue;
            }
            let start = self.at - self.at % self.block_size;
            let end = (start + self.block_size).min(self.chunk.len());
            let block = self.chunk.get(start..end).unwrap_or_default();
            let whole = block.len() == self.block_size;
            let at = self.at - start;
            match decode(block, at, self.expect) {
                Decoded::Record { kind, payload } => {
                    self.at = match kind {
                        Kind::Pad => start + self.block_size,
                        _ => start + payload.end,
                    };
                    return Ok(Step::Physical {
                        offset,
                        kind,
                        payload: start + payload.start..start + payload.end,
                    });
                }
                // Nothing is served from a block's tail, so its bytes are not looked at.
                Decoded::Tail if whole => self.at = start + self.block_size,
                Decoded::Tail if block[at..].iter().all(|&byte| byte == 0) => {
                    return Ok(Step::End { offset });
                }
                Decoded::Tail => {
                    return Ok(Step::Invalid {
                        offset,
                        reason: Invalid::Short,
                    });
                }
                Decoded::Zero => return Ok(Step::End { offset }),
                Decoded::Invalid(reason) => {
                    let reason = if !whole && reason == Invalid::Length {
                        Invalid::Short
                    } else {
                        reason
                    };
                    return Ok(Step::Invalid { offset, reason });
                }
            }
        }
    }

    /// Makes the chunk hold the block of `at`, cut at the limit.
    fn fill(&mut self) -> io::Result<()> {
        if self.at < self.chunk.len() {
            return Ok(());
        }
        // What nobody was given is read into again.
        let mut buffer = match mem::take(&mut self.chunk).try_into_mut() {
            Ok(mut buffer) => {
                buffer.clear();
                Vec::from(buffer)
            }
            Err(_) => Vec::new(),
        };
        let offset = self.offset();
        self.forget();
        let wanted = (CHUNK.max(self.block_size) as u64).min(self.limit - self.base) as usize;
        self.file.read_into(&mut buffer, wanted, self.base)?;
        self.chunk = Bytes::from(buffer);
        if self.chunk.len() <= self.at {
            self.limit = offset;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
