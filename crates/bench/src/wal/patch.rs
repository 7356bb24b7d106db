//! The form the paper measured: legacy headers in a plain file, one write a record, stock or with
//! its patch.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use dunlin_log::block::{Encoder, Form};

use super::entry::Source;
use super::layout::Policy;
use crate::error::BenchError;
use crate::interrupt::{Interrupt, Interrupted};

/// How many records are written between two looks at the interrupt.
const STRIDE: u64 = 1024;

/// An encoder that pads as the paper's patch does, when asked to.
#[derive(Debug)]
pub struct PatchEncoder {
    policy: Policy,
    block_bytes: usize,
    /// Offset in the block; 0 at a block's end.
    at: usize,
    encoder: Encoder,
    /// One at the start of a block.
    fresh: Encoder,
}

impl PatchEncoder {
    /// At the start of a file.
    pub fn new(block_bytes: u32, policy: Policy) -> PatchEncoder {
        let fresh = Encoder::new(block_bytes, policy.padding(), Form::Legacy, 0);
        PatchEncoder {
            policy,
            block_bytes: block_bytes as usize,
            at: 0,
            encoder: fresh.clone(),
            fresh,
        }
    }

    /// Appends a record to `out`. Of the patch only the first fragment needs care: the others
    /// begin in empty blocks, before which it never pads.
    pub fn record(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        let before = out.len();
        let left = self.block_bytes - self.at;
        if self.policy == Policy::Patch && self.at > 0 && left < payload.len() {
            out.resize(before + left, 0);
            self.encoder = self.fresh.clone();
        }
        self.encoder.record(payload, out);
        self.at = (self.at + out.len() - before) % self.block_bytes;
    }
}

/// Writes `entries` records into a new file, each with one write as RocksDB flushes each; returns
/// the mean time of encoding and writing one, in microseconds.
///
/// # Errors
/// When the file cannot be written, or the user stops the run.
pub fn write(
    path: &Path,
    mut encoder: PatchEncoder,
    source: &mut Source,
    entries: u64,
    interrupt: &Interrupt,
) -> Result<f64, BenchError> {
    let failed = |source| BenchError::File {
        path: path.to_owned(),
        source,
    };
    let file = create(path).map_err(failed)?;
    let (mut offset, mut buffer, mut spent_s) = (0, Vec::new(), 0.0);
    for index in 0..entries {
        if index % STRIDE == 0 && interrupt.is_set() {
            return Err(Interrupted.into());
        }
        let payload = source.next_payload();
        let begun = Instant::now();
        encoder.record(&payload, &mut buffer);
        file.write_all_at(&buffer, offset).map_err(failed)?;
        offset += buffer.len() as u64;
        buffer.clear();
        spent_s += begun.elapsed().as_secs_f64();
    }
    Ok(spent_s * 1e6 / entries.max(1) as f64)
}

fn create(path: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)
}

#[cfg(test)]
#[path = "patch_tests.rs"]
mod tests;
