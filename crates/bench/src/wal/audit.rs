//! Reads a log file back, physical record by physical record, and counts what its bytes are.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use dunlin_log::block::{Decoded, Expect, Kind, decode};

use super::layout::{Counts, Header};
use crate::error::BenchError;

/// Read at once; a multiple of every block size.
const WINDOW_BYTES: usize = 1 << 20;

/// Counts a file of blocks of `block_bytes`: a segment of number 1 of Dunlin's log, or a plain
/// file of legacy records.
///
/// # Errors
/// When the file cannot be read, or holds bytes that are neither records nor zeros.
pub fn count(path: &Path, block_bytes: u32, header: Header) -> Result<Counts, BenchError> {
    let failed = |source| BenchError::File {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(failed)?;
    let mut audit = Audit {
        header,
        counts: Counts::default(),
        fragments: 0,
    };
    let mut window = vec![0; WINDOW_BYTES];
    let mut base = 0;
    loop {
        let filled = fill(&file, &mut window, base).map_err(failed)?;
        for (at, block) in window[..filled].chunks(block_bytes as usize).enumerate() {
            let offset = base + (at * block_bytes as usize) as u64;
            match audit.block(block) {
                Ok(true) => {}
                Ok(false) => return Ok(audit.counts),
                Err(at) => {
                    return Err(BenchError::Layout(format!(
                        "{}: no record at offset {}",
                        path.display(),
                        offset + at as u64
                    )));
                }
            }
        }
        base += filled as u64;
        if filled < window.len() {
            return Ok(audit.counts);
        }
    }
}

struct Audit {
    header: Header,
    counts: Counts,
    /// Of the logical record that has not ended.
    fragments: u64,
}

impl Audit {
    /// Whether more may follow behind this block; the offset of what is no record, else.
    fn block(&mut self, block: &[u8]) -> Result<bool, usize> {
        let expect = match self.header {
            Header::Legacy => Expect::Any,
            Header::Recyclable => Expect::Number(1),
        };
        let mut at = 0;
        while at < block.len() {
            let rest = (block.len() - at) as u64;
            match decode(block, at, expect) {
                Decoded::Record { kind, payload } => {
                    let header = (payload.start - at) as u64;
                    match kind {
                        Kind::Pad => {
                            zeros(block, payload.end)?;
                            self.padding(rest);
                            return Ok(true);
                        }
                        Kind::SegmentHeader | Kind::SyncMark => {
                            self.counts.own_bytes += header + payload.len() as u64;
                        }
                        _ => self.fragment(kind, header, payload.len() as u64),
                    }
                    self.counts.file_bytes += header + payload.len() as u64;
                    at = payload.end;
                }
                // A plain file ends with its last record: zeros in it are padding. A segment is
                // preallocated: behind its last record there is nothing.
                Decoded::Zero if self.header == Header::Recyclable => return Ok(false),
                Decoded::Zero | Decoded::Tail => {
                    zeros(block, at)?;
                    self.padding(rest);
                    return Ok(true);
                }
                Decoded::Invalid(_) => return Err(at),
            }
        }
        Ok(true)
    }

    fn padding(&mut self, bytes: u64) {
        self.counts.padding_bytes += bytes;
        self.counts.file_bytes += bytes;
    }

    fn fragment(&mut self, kind: Kind, header: u64, payload: u64) {
        self.counts.header_bytes += header;
        self.counts.payload_bytes += payload;
        self.counts.fragments += 1;
        self.fragments += 1;
        if matches!(kind, Kind::Full | Kind::Last) {
            self.counts.records += 1;
            self.counts.records_split += u64::from(self.fragments > 1);
            self.fragments = 0;
        }
    }
}

fn zeros(block: &[u8], from: usize) -> Result<(), usize> {
    match block[from..].iter().position(|&byte| byte != 0) {
        None => Ok(()),
        Some(distance) => Err(from + distance),
    }
}

fn fill(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64)? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
