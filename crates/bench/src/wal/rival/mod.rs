//! RocksDB's own log, by `db_bench`, beside Dunlin's.

use serde::Serialize;

use super::Session;
use super::entry::{Entry, Source};
use super::writers::{Driven, Load, WRITERS, Written, on_event_loop};
use crate::error::BenchError;
use crate::interval::Interval;

pub mod db_bench;

use db_bench::{Call, DbBench, Ran};

/// What both write.
pub const ENTRY: Entry = Entry {
    key_bytes: 16,
    value_bytes: 128,
};

/// Both logs side by side.
#[derive(Debug, Clone, Serialize)]
pub struct Rival {
    /// As `db_bench` names itself.
    pub version: String,
    /// Whether it warned that it was built with assertions, which make it slower than it could be.
    pub assertions: bool,
    /// What both wrote.
    #[serde(flatten)]
    pub entry: Entry,
    /// Without and with sync.
    pub rows: Vec<Row>,
}

/// One sync policy.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// Whether every entry was synced before it was answered.
    pub sync: bool,
    /// Entries of one run.
    pub entries: u64,
    /// Entries per second of Dunlin's log.
    pub ours_per_s: Interval,
    /// Its CPU per entry, with the making of entries.
    pub ours_cpu_us: Interval,
    /// Entries per second of RocksDB, log and memtable.
    pub with_log_per_s: Interval,
    /// Its CPU per entry.
    pub with_log_cpu_us: Interval,
    /// Entries per second of RocksDB with its log off.
    pub without_log_per_s: Interval,
    /// Its CPU per entry.
    pub without_log_cpu_us: Interval,
    /// Time per entry with log minus without: what its log takes, in microseconds.
    pub log_us: Interval,
    /// CPU per entry with log minus without.
    pub log_cpu_us: Interval,
    /// What RocksDB's own clock says of its log: the time in which it encodes and writes it.
    pub wal_us: Interval,
    /// Time per entry without that in the memtable, by the same clock.
    pub path_us: Interval,
    /// Dunlin's entries per second over those of RocksDB without its memtable (1 / `path_us`).
    pub ratio_path: Interval,
    /// Dunlin's entries per second over what its log adds (1 / `log_us`).
    pub ratio_log: Interval,
    /// Dunlin's entries per second over those of RocksDB with its memtable.
    pub ratio_whole: Interval,
    /// CPU of RocksDB's log alone over Dunlin's.
    pub ratio_cpu: Interval,
}

/// Runs both in turn; `None` where `db_bench` is not installed.
///
/// # Errors
/// When one of them fails, or the user stops the run.
pub fn measure(session: &Session) -> Result<Option<Rival>, BenchError> {
    let Some(program) = DbBench::find() else {
        session.progress.say("no db_bench: nothing beside RocksDB");
        return Ok(None);
    };
    let mut rival = Rival {
        version: program.version(),
        assertions: false,
        entry: ENTRY,
        rows: Vec::new(),
    };
    for sync in [false, true] {
        let (row, assertions) = measure_row(session, &program, sync)?;
        rival.assertions |= assertions;
        rival.rows.push(row);
    }
    Ok(Some(rival))
}

#[derive(Default)]
struct Runs {
    ours: Vec<Written>,
    with_log: Vec<Ran>,
    without_log: Vec<Ran>,
    timed: Vec<Ran>,
}

fn measure_row(
    session: &Session,
    program: &DbBench,
    sync: bool,
) -> Result<(Row, bool), BenchError> {
    let plan = &session.plan;
    let entries_each = if sync {
        plan.rival_entries_each_synced
    } else {
        plan.rival_entries_each
    };
    let call = |wal, timed| Call {
        entry: ENTRY,
        entries_each,
        wal,
        timed,
        // Nothing is synced without a log.
        sync: sync && wal,
    };
    let entries = entries_each * WRITERS;
    let mut runs = Runs::default();
    for repeat in 0..plan.rival_repeats {
        for step in 0..4 {
            session.check()?;
            match (repeat + step) % 4 {
                0 => runs.ours.push(ours(session, entries, sync)?),
                1 => runs.with_log.push(program.run(session, call(true, false))?),
                2 => runs.timed.push(program.run(session, call(true, true))?),
                _ => runs
                    .without_log
                    .push(program.run(session, call(false, false))?),
            }
        }
        let or_0 = |number: Option<f64>| number.unwrap_or_default();
        session.progress.say(&format!(
            "sync {sync}: ours {:.0}/s, RocksDB {:.0}/s, without its log {:.0}/s, \
             without its memtable {:.2} us, its log {:.2} us",
            or_0(runs.ours.last().map(Written::entries_per_s)),
            or_0(runs.with_log.last().map(Ran::per_s)),
            or_0(runs.without_log.last().map(Ran::per_s)),
            or_0(runs.timed.last().map(Ran::path_us)),
            or_0(runs.timed.last().map(Ran::wal_us)),
        ));
    }
    let assertions = runs.with_log.iter().any(|run| run.assertions);
    Ok((runs.row(sync, entries), assertions))
}

impl Runs {
    fn row(&self, sync: bool, entries: u64) -> Row {
        let of = |runs: &[Ran], number: fn(&Ran) -> f64| -> Vec<f64> {
            runs.iter().map(number).collect()
        };
        let ours_per_s: Vec<f64> = self.ours.iter().map(Written::entries_per_s).collect();
        let ours_cpu: Vec<f64> = self.ours.iter().map(Written::cpu_us).collect();
        let (with, without) = (&self.with_log, &self.without_log);
        let log_us = differences(&of(with, Ran::entry_us), &of(without, Ran::entry_us));
        let log_cpu = differences(&of(with, Ran::cpu_us), &of(without, Ran::cpu_us));
        let ours_us: Vec<f64> = ours_per_s.iter().map(|per_s| 1e6 / per_s).collect();
        let path_us = of(&self.timed, Ran::path_us);
        Row {
            sync,
            entries,
            ours_cpu_us: Interval::of(&ours_cpu),
            with_log_per_s: Interval::of(&of(with, Ran::per_s)),
            with_log_cpu_us: Interval::of(&of(with, Ran::cpu_us)),
            without_log_per_s: Interval::of(&of(without, Ran::per_s)),
            without_log_cpu_us: Interval::of(&of(without, Ran::cpu_us)),
            wal_us: Interval::of(&of(&self.timed, Ran::wal_us)),
            ratio_path: Interval::of_ratios(&path_us, &ours_us),
            path_us: Interval::of(&path_us),
            ratio_log: Interval::of_ratios(&log_us, &ours_us),
            ratio_whole: Interval::of_ratios(&ours_per_s, &of(with, Ran::per_s)),
            ratio_cpu: Interval::of_ratios(&log_cpu, &ours_cpu),
            log_us: Interval::of(&log_us),
            log_cpu_us: Interval::of(&log_cpu),
            ours_per_s: Interval::of(&ours_per_s),
        }
    }
}

fn differences(with: &[f64], without: &[f64]) -> Vec<f64> {
    with.iter().zip(without).map(|(a, b)| a - b).collect()
}

fn ours(session: &Session, entries: u64, sync: bool) -> Result<Written, BenchError> {
    let directory = session.directory("rival")?;
    let source = Source::new(ENTRY, 5);
    on_event_loop(async {
        let (driven, ..) = Driven::open(directory.path(), dunlin_log::Options::default()).await?;
        driven.begin().await?;
        let load = Load {
            entries,
            writers: WRITERS,
            sync,
            release: false,
        };
        let written = driven.write(load, &source, &session.interrupt).await?;
        driven.abandon();
        Ok(written)
    })
}

#[cfg(test)]
#[path = "rival_tests.rs"]
mod tests;
