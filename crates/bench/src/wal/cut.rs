//! What is lost of a log whose file ends at a random byte.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dunlin_log::Runner;
use dunlin_log::disk::Disk;
use dunlin_log::sim::SimDisk;
use serde::Serialize;

use super::entry::{Entry, Source, random};
use super::layout::{Layout, Policy};
use super::writers::{Driven, Load, WRITERS, on_event_loop, one_segment};
use crate::error::BenchError;
use crate::interrupt::Interrupt;

/// A log holds at least this many blocks, so that cuts meet every part of one.
const BLOCKS_MIN: u64 = 6;
const SEGMENT: &str = "00000000000000000001.log";

/// What cuts cost, on average over them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Lost {
    /// Cuts made.
    pub cuts: u64,
    /// Entries of the log that was cut.
    pub entries: u64,
    /// Entries not recovered, mean.
    pub entries_lost_mean: f64,
    /// Of those, entries of which a part had been before the cut: 0 to 1.
    pub entries_torn_mean: f64,
}

/// Writes a log of some blocks in memory, cuts its file at `cuts` random bytes behind the first
/// record, opens each, and counts. Where exactly the log must end is known: anything else is an
/// error.
///
/// # Errors
/// [`BenchError::Layout`] when a log recovers to another entry than the last whole one.
pub fn measure(
    entry: Entry,
    block_bytes: u32,
    policy: Policy,
    cuts: u64,
    seed: u64,
) -> Result<Lost, BenchError> {
    let mut layout = Layout::segment(block_bytes, policy);
    let first = layout.counts().file_bytes;
    let mut ends = Vec::new();
    while layout.counts().file_bytes < BLOCKS_MIN * u64::from(block_bytes) {
        ends.push(layout.record(entry.payload_bytes() as u64));
    }
    let length = layout.counts().file_bytes;
    let directory = Path::new("/log");
    let bytes = on_event_loop(write(entry, block_bytes, policy, length, ends.len() as u64))?;
    let (mut lost, mut torn, mut state) = (0, 0, seed);
    for _ in 0..cuts {
        let cut = first + random(&mut state) % (length - first);
        let disk = SimDisk::new(seed);
        let file = disk.open(&directory.join(SEGMENT), true)?;
        file.write_at(&bytes[..cut as usize], 0)?;
        let options = one_segment(block_bytes, policy, length);
        let recovered = on_event_loop(async {
            let opened = Driven::open_on(Arc::new(disk), inline(), directory, options).await?;
            opened.0.abandon();
            // The preamble has the first index.
            Ok(opened.1.last_index - 1)
        })?;
        let whole = ends.partition_point(|&(_, end)| end <= cut) as u64;
        if recovered != whole {
            return Err(BenchError::Layout(format!(
                "{} in {block_bytes} B blocks, {policy:?}: cut at {cut} it holds {whole} entries \
                 but {recovered} are recovered",
                entry.name()
            )));
        }
        lost += ends.len() as u64 - recovered;
        torn += u64::from(ends.iter().any(|&(begin, end)| begin < cut && cut < end));
    }
    let mean = |sum: u64| sum as f64 / cuts.max(1) as f64;
    Ok(Lost {
        cuts,
        entries: ends.len() as u64,
        entries_lost_mean: mean(lost),
        entries_torn_mean: mean(torn),
    })
}

async fn write(
    entry: Entry,
    block_bytes: u32,
    policy: Policy,
    length: u64,
    entries: u64,
) -> Result<Vec<u8>, BenchError> {
    let disk = SimDisk::new(0);
    let directory = Path::new("/log");
    let options = one_segment(block_bytes, policy, length);
    let (driven, ..) =
        Driven::open_on(Arc::new(disk.clone()), inline(), directory, options).await?;
    driven.begin().await?;
    let load = Load {
        entries,
        writers: WRITERS,
        sync: false,
        release: false,
    };
    driven
        .write(load, &Source::new(entry, 1), &Interrupt::default())
        .await?;
    driven.abandon();
    let path = directory.join(SEGMENT);
    disk.contents(&path)
        .ok_or_else(|| BenchError::Layout(format!("{}: not written", path.display())))
}

fn inline() -> Runner {
    Runner::inline(|| Duration::ZERO)
}

#[cfg(test)]
#[path = "cut_tests.rs"]
mod tests;
