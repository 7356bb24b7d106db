//! Writing and syncing without a log.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, fallocate};

use crate::error::BenchError;
use crate::wal::cause::write_size::create;

/// The file begins again from the front after this.
const FILE_BYTES: u64 = 8 << 20;

/// Writes `record_bytes` one behind the other, each with `fdatasync`, for `run`; returns how many
/// a second. The file is preallocated, and written over once before when `overwrite`.
///
/// # Errors
/// When the disk refuses.
pub fn rate(
    directory: &Path,
    record_bytes: usize,
    overwrite: bool,
    run: Duration,
) -> Result<f64, BenchError> {
    let path = directory.join("bare");
    let file = create(&path)?;
    preallocate(&file)?;
    if overwrite {
        file.write_all_at(&vec![0; FILE_BYTES as usize], 0)?;
    }
    file.sync_all()?;
    let record = vec![0x5a; record_bytes];
    let records = FILE_BYTES / record_bytes as u64;
    let (mut count, begun) = (0, Instant::now());
    while begun.elapsed() < run {
        file.write_all_at(&record, count % records * record_bytes as u64)?;
        file.sync_data()?;
        count += 1;
    }
    Ok(count as f64 / begun.elapsed().as_secs_f64())
}

fn preallocate(file: &File) -> std::io::Result<()> {
    Ok(fallocate(file, FallocateFlags::empty(), 0, FILE_BYTES)?)
}
