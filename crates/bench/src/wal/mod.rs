//! Paper 002: block size and padding of the log, cell by cell, and what lies behind them.
//!
//! - [`plan`]: how much is measured; [`grid`], [`entry`]: what of
//! - [`layout`]: where every byte must go; [`audit`]: where it went
//! - [`writers`]: Dunlin's log under load; [`patch`]: the paper's own form
//! - [`cell`]: one cell; [`cut`]: what a torn log loses
//! - [`cause`]: experiments that vary one thing at a time
//! - [`rival`]: RocksDB's own log; [`device`]: the disk alone; [`read`]: reading back
//! - [`target`]: what was to be reached; [`report`]: tables, charts, page

use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;

use crate::error::BenchError;
use crate::host::machine::{Machine, revision};
use crate::interrupt::{Interrupt, Interrupted};
use crate::options::{Part, WalOptions};
use crate::progress::Progress;

pub mod audit;
pub mod cause;
pub mod cell;
pub mod cut;
pub mod device;
pub mod entry;
pub mod grid;
pub mod layout;
pub mod patch;
pub mod plan;
pub mod read;
pub mod report;
pub mod rival;
pub mod target;
pub mod writers;

use cell::Cell;
use plan::Plan;
use report::model::Report;

/// What every part of the run needs.
#[derive(Debug)]
pub struct Session {
    quick: bool,
    plan: Plan,
    /// Everything written lies below; removed with the session.
    scratch: TempDir,
    data: PathBuf,
    interrupt: Interrupt,
    progress: Progress,
}

impl Session {
    /// A session of what the flags ask for.
    ///
    /// # Errors
    /// When the data directory cannot be written.
    pub fn new(options: &WalOptions, interrupt: Interrupt) -> Result<Session, BenchError> {
        let data = options.data_dir.clone().unwrap_or_else(std::env::temp_dir);
        let scratch = tempfile::Builder::new()
            .prefix("dunlin-bench-wal-")
            .tempdir_in(&data)
            .map_err(|source| BenchError::File {
                path: data.clone(),
                source,
            })?;
        Ok(Session {
            quick: options.quick,
            plan: Plan::of(options),
            scratch,
            data,
            interrupt,
            progress: Progress::start(),
        })
    }

    /// The same with another plan.
    pub fn with_plan(self, plan: Plan) -> Session {
        Session { plan, ..self }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// A new directory, removed when it is dropped.
    fn directory(&self, name: &str) -> Result<TempDir, BenchError> {
        let made = tempfile::Builder::new()
            .prefix(name)
            .tempdir_in(self.scratch.path());
        made.map_err(|source| BenchError::File {
            path: self.scratch.path().to_owned(),
            source,
        })
    }

    /// # Errors
    /// [`Interrupted`] when the user asked to stop.
    fn check(&self) -> Result<(), Interrupted> {
        self.interrupt.check()
    }
}

/// Carries out the whole run. `date_utc` and `command_line` are for the report.
///
/// # Errors
/// When the disk refuses, when bytes are not where they must be, or when the user stops the run.
pub fn run(session: &Session, date_utc: &str, command_line: &str) -> Result<Report, BenchError> {
    let plan = &session.plan;
    let rival = plan.has(Part::Rival).then(|| rival::measure(session));
    let device = plan.has(Part::Device).then(|| device::measure(session));
    let (rival, device) = (rival.transpose()?.flatten(), device.transpose()?);
    let read = plan.has(Part::Read).then(|| read::measure(session));
    let read = read.transpose()?.unwrap_or_default();
    let causes = plan.has(Part::Causes).then(|| cause::measure(session));
    let causes = causes.transpose()?.unwrap_or_default();
    let cells = if plan.has(Part::Grid) {
        measure_grid(session)?
    } else {
        Vec::new()
    };
    let targets = target::evaluate(rival.as_ref(), device.as_ref(), &read, &cells);
    Ok(Report {
        date_utc: date_utc.to_owned(),
        command_line: command_line.to_owned(),
        quick: session.quick,
        machine: Machine::describe(&session.data),
        revision: revision(),
        plan: plan.clone(),
        targets,
        cells,
        causes,
        rival,
        device,
        read,
        wall_s: session.progress.elapsed().as_secs_f64(),
    })
}

fn measure_grid(session: &Session) -> Result<Vec<Cell>, BenchError> {
    let plan = &session.plan;
    let entries = grid::entries(&plan.key_bytes, &plan.value_bytes);
    let todo: Vec<_> = plan
        .block_bytes
        .iter()
        .flat_map(|&block_bytes| entries.iter().map(move |&entry| (entry, block_bytes)))
        .collect();
    let effort = |&(entry, _): &(entry::Entry, u32)| effort(plan, entry);
    let all: f64 = todo.iter().map(effort).sum();
    let (begun, mut done) = (session.progress.elapsed(), 0.0);
    let mut cells = Vec::new();
    for (at, case) in todo.iter().enumerate() {
        session.check()?;
        let cell = cell::measure(session, case.0, case.1)?;
        done += effort(case);
        let spent = session.progress.elapsed().saturating_sub(begun);
        session.progress.say(&format!(
            "cell {} of {}: {} in {}: pad - fragment {} us; {} left",
            at + 1,
            todo.len(),
            case.0.name(),
            grid::block_name(case.1),
            report::sections::signed(&cell.difference_us, 2),
            left(spent, done / all),
        ));
        cells.push(cell);
    }
    Ok(cells)
}

/// About how long a cell takes, in any unit: a part by entry and a part by byte.
fn effort(plan: &Plan, entry: entry::Entry) -> f64 {
    let timed = plan.repeats as u64 * plan.entries_timed(entry.user_bytes());
    (plan.entries + timed) as f64 * (1_000 + entry.user_bytes()) as f64
}

fn left(spent: Duration, share: f64) -> String {
    let seconds = spent.as_secs_f64() * (1.0 - share).max(0.0) / share.max(1e-9);
    if seconds >= 90.0 {
        format!("{:.0} min", seconds / 60.0)
    } else {
        format!("{seconds:.0} s")
    }
}
