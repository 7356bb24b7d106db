//! Synced writes beside what the disk does alone.

use std::path::Path;
use std::time::Duration;

use dunlin_log::Options;
use serde::Serialize;

use super::Session;
use super::entry::{Entry, Source};
use super::writers::{Driven, Load, on_event_loop};
use crate::error::BenchError;
use crate::host::disk::sync_rate;
use crate::interval::Interval;

pub mod bare;
pub mod fio;

/// What is written.
pub const ENTRY: Entry = Entry {
    key_bytes: 16,
    value_bytes: 128,
};
/// Concurrent writers.
const WRITERS: [u64; 4] = [1, 6, 64, 256];
/// Small, so that a warm-up makes all segments recycled ones, as after a while of running.
const SEGMENT_BYTES: u64 = 4 << 20;
/// A group does not grow with the writers for ever.
const GROUP_MAX: u64 = 32;

/// The log beside the disk.
#[derive(Debug, Clone, Serialize)]
pub struct Device {
    /// Bytes of each bare write: those of one record.
    pub record_bytes: usize,
    /// The disk alone. The second, over bytes that exist, is what the log is compared with.
    pub bare: Vec<Bare>,
    /// The log.
    pub rows: Vec<Row>,
}

/// One way of writing and syncing without a log.
#[derive(Debug, Clone, Serialize)]
pub struct Bare {
    /// Which.
    pub name: String,
    /// Writes, each with its sync, a second.
    pub per_s: Interval,
    /// One write with its sync, mean.
    pub latency_us: Interval,
}

/// One number of writers.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// How many.
    pub writers: u64,
    /// Entries, each synced before it is answered.
    pub entries_per_s: Interval,
    /// Over the bare writes of the same round.
    pub ratio: Interval,
    /// From append to synced, mean.
    pub latency_us: Interval,
    /// Over that of the bare writes of the same round.
    pub ratio_latency: Interval,
    /// Entries that shared a sync.
    pub entries_a_sync: Interval,
}

#[derive(Default)]
struct Runs {
    per_s: Vec<f64>,
    latency_us: Vec<f64>,
    entries_a_sync: Vec<f64>,
}

/// Runs all in turn.
///
/// # Errors
/// When the disk refuses, or the user stops the run.
pub fn measure(session: &Session) -> Result<Device, BenchError> {
    // As long as the log's physical record.
    let record_bytes = ENTRY.payload_bytes() + dunlin_log::block::RECYCLABLE_HEADER;
    let mut bare: Vec<(&str, Vec<f64>)> = vec![
        ("a record into preallocated room", Vec::new()),
        ("a record over bytes that exist", Vec::new()),
        ("4 KiB over bytes that exist", Vec::new()),
    ];
    let fio = fio::find();
    if fio.is_some() {
        bare.push(("4 KiB over bytes that exist, by fio", Vec::new()));
    }
    let mut runs: [Runs; WRITERS.len()] = Default::default();
    for repeat in 0..session.plan.device_repeats {
        let directory = session.directory("device")?;
        for (at, (_, rates)) in bare.iter_mut().enumerate() {
            session.check()?;
            let run = session.plan.device_run;
            let directory = directory.path();
            rates.push(match (at, &fio) {
                (0, _) => bare::rate(directory, record_bytes, false, run)?,
                (1, _) => bare::rate(directory, record_bytes, true, run)?,
                (3, Some(fio)) => fio::rate(fio, directory, run, session)?,
                _ => sync_rate(directory, run)?.syncs_per_s,
            });
        }
        let rate = bare[1].1.last().copied().unwrap_or(1.0);
        let mut order: Vec<usize> = (0..WRITERS.len()).collect();
        if repeat % 2 == 1 {
            order.reverse();
        }
        for at in order {
            session.check()?;
            run_log(session, directory.path(), rate, WRITERS[at], &mut runs[at])?;
        }
        session.progress.say(&format!(
            "device: bare {rate:.0} writes/s, log {} entries/s at {WRITERS:?} writers",
            runs.each_ref()
                .map(|runs| format!("{:.0}", runs.per_s.last().copied().unwrap_or(0.0)))
                .join(", "),
        ));
    }
    let rates = bare[1].1.clone();
    let latencies = inverse(&rates);
    let rows = WRITERS.into_iter().zip(&runs).map(|(writers, runs)| Row {
        writers,
        entries_per_s: Interval::of(&runs.per_s),
        ratio: Interval::of_ratios(&runs.per_s, &rates),
        latency_us: Interval::of(&runs.latency_us),
        ratio_latency: Interval::of_ratios(&runs.latency_us, &latencies),
        entries_a_sync: Interval::of(&runs.entries_a_sync),
    });
    Ok(Device {
        record_bytes,
        rows: rows.collect(),
        bare: bare
            .into_iter()
            .map(|(name, rates)| Bare {
                name: name.to_owned(),
                per_s: Interval::of(&rates),
                latency_us: Interval::of(&inverse(&rates)),
            })
            .collect(),
    })
}

/// Microseconds each.
fn inverse(rates_per_s: &[f64]) -> Vec<f64> {
    rates_per_s
        .iter()
        .map(|rate| 1e6 / rate.max(1e-9))
        .collect()
}

/// Warms the log up until its segments are recycled ones, then measures for about as long as the
/// bare writes ran.
fn run_log(
    session: &Session,
    directory: &Path,
    rate_per_s: f64,
    writers: u64,
    runs: &mut Runs,
) -> Result<(), BenchError> {
    let directory = directory.join(format!("log-{writers}-{}", runs.per_s.len()));
    let source = Source::new(ENTRY, 9);
    let options = Options {
        segment_bytes: SEGMENT_BYTES,
        ..Options::default()
    };
    let (written, entries_a_sync) = on_event_loop(async {
        let (driven, ..) = Driven::open(&directory, options).await?;
        driven.begin().await?;
        let warm_up = Load {
            entries: 4 * SEGMENT_BYTES / ENTRY.payload_bytes() as u64,
            writers: GROUP_MAX,
            sync: false,
            release: true,
        };
        driven.write(warm_up, &source, &session.interrupt).await?;
        driven.log.request_sync();
        driven.log.wait_synced(driven.log.last()).await?;
        let before = driven.stats();
        let load = Load {
            entries: entries(rate_per_s, session.plan.device_run, writers),
            writers,
            sync: true,
            release: true,
        };
        let written = driven.write(load, &source, &session.interrupt).await?;
        let after = driven.stats();
        driven.abandon();
        let syncs = (after.syncs - before.syncs).max(1);
        let synced = after.records_synced - before.records_synced;
        Ok((written, synced as f64 / syncs as f64))
    })?;
    runs.per_s.push(written.entries_per_s());
    runs.latency_us.push(written.latency_us_mean);
    runs.entries_a_sync.push(entries_a_sync);
    Ok(())
}

/// As many as take about as long as the bare run.
fn entries(rate_per_s: f64, run: Duration, writers: u64) -> u64 {
    let groups = (rate_per_s * run.as_secs_f64()) as u64;
    (groups * writers.min(GROUP_MAX)).max(4 * writers)
}
