//! Reading a log back from the page cache: recovery, and a cursor.

use std::path::Path;
use std::time::Instant;

use dunlin_log::Options;
use serde::Serialize;
use tempfile::TempDir;

use super::Session;
use super::entry::{Entry, Source};
use super::writers::{Driven, Load, WRITERS, cpu_time, on_event_loop};
use crate::error::BenchError;
use crate::interrupt::Interrupted;
use crate::interval::Interval;

/// Values of the logs that are read, with keys of 16 bytes.
const VALUE_BYTES: [usize; 3] = [128, 1024, 4096];
/// What a cursor asks for at once.
const BATCH_BYTES: usize = 1 << 20;

/// How fast one log is read.
#[derive(Debug, Clone, Serialize)]
pub struct Read {
    /// Its entries.
    #[serde(flatten)]
    pub entry: Entry,
    /// Bytes of its files.
    pub bytes: u64,
    /// Its entries, preambles of segments among them.
    pub entries: u64,
    /// GB a second of `Log::open`.
    pub recovery_gb_per_s: Interval,
    /// GB a second of CPU time of it.
    pub recovery_gb_per_cpu_s: Interval,
    /// GB a second of a cursor from the first record to the last.
    pub cursor_gb_per_s: Interval,
    /// GB a second of CPU time of it.
    pub cursor_gb_per_cpu_s: Interval,
}

#[derive(Default)]
struct Runs {
    recovery: Vec<f64>,
    recovery_cpu: Vec<f64>,
    cursor: Vec<f64>,
    cursor_cpu: Vec<f64>,
}

/// Writes the logs, then reads each in turn.
///
/// # Errors
/// When a log cannot be written or read, or the user stops the run.
pub fn measure(session: &Session) -> Result<Vec<Read>, BenchError> {
    let mut logs = Vec::new();
    for value_bytes in VALUE_BYTES {
        let entry = Entry {
            key_bytes: 16,
            value_bytes,
        };
        session.progress.say(&format!(
            "writing {:.1} GB of {} to read back",
            session.plan.read_bytes as f64 / 1e9,
            entry.name()
        ));
        logs.push((entry, write(session, entry)?, Runs::default()));
    }
    let mut sizes = [(0, 0); VALUE_BYTES.len()];
    for _ in 0..session.plan.read_repeats {
        for ((_, directory, runs), size) in logs.iter_mut().zip(&mut sizes) {
            session.check()?;
            *size = read(session, directory.path(), runs)?;
        }
    }
    let finished = logs.into_iter().zip(sizes).map(|((entry, _, runs), size)| {
        let (bytes, entries) = size;
        let read = Read {
            entry,
            bytes,
            entries,
            recovery_gb_per_s: Interval::of(&runs.recovery),
            recovery_gb_per_cpu_s: Interval::of(&runs.recovery_cpu),
            cursor_gb_per_s: Interval::of(&runs.cursor),
            cursor_gb_per_cpu_s: Interval::of(&runs.cursor_cpu),
        };
        session.progress.say(&format!(
            "{}: recovery {:.2} GB/s, cursor {:.2} GB/s",
            entry.name(),
            read.recovery_gb_per_s.median,
            read.cursor_gb_per_s.median
        ));
        read
    });
    Ok(finished.collect())
}

fn write(session: &Session, entry: Entry) -> Result<TempDir, BenchError> {
    let directory = session.directory("read")?;
    on_event_loop(async {
        let (driven, ..) = Driven::open(directory.path(), Options::default()).await?;
        driven.begin().await?;
        let load = Load {
            entries: session.plan.read_bytes / entry.payload_bytes() as u64,
            writers: WRITERS,
            sync: false,
            release: false,
        };
        let source = Source::new(entry, 13);
        driven.write(load, &source, &session.interrupt).await?;
        driven.close().await
    })?;
    Ok(directory)
}

/// Opens the log and reads all of it; returns its bytes and entries.
fn read(session: &Session, directory: &Path, runs: &mut Runs) -> Result<(u64, u64), BenchError> {
    on_event_loop(async {
        let cpu = cpu_time();
        let (driven, recovered, took) = Driven::open(directory, Options::default()).await?;
        let cpu_s = cpu_time().saturating_sub(cpu).as_secs_f64();
        let bytes = driven.stats().segment_bytes;
        let gb = bytes as f64 / 1e9;
        runs.recovery.push(gb / took.as_secs_f64().max(1e-9));
        runs.recovery_cpu.push(gb / cpu_s.max(1e-9));
        let (cpu, begun) = (cpu_time(), Instant::now());
        let mut cursor = driven.log.cursor(recovered.first_index);
        let mut entries = 0;
        while cursor.position() <= recovered.last_index {
            if session.interrupt.is_set() {
                return Err(Interrupted.into());
            }
            entries += cursor.next(BATCH_BYTES).await?.len() as u64;
        }
        let cpu_s = cpu_time().saturating_sub(cpu).as_secs_f64();
        runs.cursor
            .push(gb / begun.elapsed().as_secs_f64().max(1e-9));
        runs.cursor_cpu.push(gb / cpu_s.max(1e-9));
        driven.abandon();
        Ok((bytes, entries))
    })
}
