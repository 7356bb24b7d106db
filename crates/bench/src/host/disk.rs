//! How fast the disk syncs: the bound on what a store that syncs can acknowledge alone.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde::Serialize;

const BLOCK_LENGTH: usize = 4096;
/// The file is written over in a circle, as a preallocated log would be.
const FILE_BLOCKS: u64 = 4096;

/// What a loop of one 4 KiB write and one `fdatasync` reached.
#[derive(Debug, Clone, Serialize)]
pub struct SyncRate {
    /// Write and sync pairs per second.
    pub syncs_per_s: f64,
    /// Median of one pair.
    pub sync_us_p50: u64,
    /// 99th percentile of one pair.
    pub sync_us_p99: u64,
}

/// Runs the loop for `duration` in a new file in `directory`, which is removed again.
///
/// # Errors
/// When the disk refuses.
pub fn sync_rate(directory: &Path, duration: Duration) -> std::io::Result<SyncRate> {
    let path = directory.join("sync-rate");
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&path)?;
    let block = vec![0x5a; BLOCK_LENGTH];
    let chunk = vec![0; 256 * BLOCK_LENGTH];
    for index in 0..FILE_BLOCKS / 256 {
        file.write_all_at(&chunk, index * chunk.len() as u64)?;
    }
    file.sync_all()?;
    let mut latency_us = Histogram::<u64>::new_with_bounds(1, 60_000_000, 3)
        .map_err(|error| std::io::Error::other(error.to_string()))?;
    let start = Instant::now();
    let mut count = 0;
    while start.elapsed() < duration {
        let before = Instant::now();
        file.write_all_at(&block, count % FILE_BLOCKS * BLOCK_LENGTH as u64)?;
        file.sync_data()?;
        latency_us.saturating_record(before.elapsed().as_micros() as u64);
        count += 1;
    }
    let seconds = start.elapsed().as_secs_f64();
    std::fs::remove_file(&path)?;
    Ok(SyncRate {
        syncs_per_s: count as f64 / seconds,
        sync_us_p50: latency_us.value_at_percentile(50.0),
        sync_us_p99: latency_us.value_at_percentile(99.0),
    })
}

#[cfg(test)]
#[path = "disk_tests.rs"]
mod tests;
