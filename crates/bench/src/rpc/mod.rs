//! Paper 003: calls between two threads, one processor each, 1 KiB there and 10 bytes back.
//!
//! - [`case`]: who calls, over what; [`mod@run`]: one case; [`pair`]: its threads; [`tally`]: their figures
//! - [`ours`]: `crates/rpc`; [`bare`]: sockets alone; [`grpc`]: `tonic`
//! - [`report`]: the tables

use std::time::Duration;

use serde::Serialize;

use crate::error::BenchError;
use crate::host::machine::{Machine, revision};
use crate::interrupt::Interrupt;
use crate::options::PairOptions;
use crate::progress::Progress;
use crate::spread::Runs;

pub mod bare;
pub mod case;
pub mod grpc;
pub mod ours;
pub mod pair;
pub mod report;
pub mod run;
pub mod tally;

use case::{Calls, cases};
use tally::{CallFigures, Times};

/// A case with its runs, one of each round.
pub type CallRuns = Runs<Calls, CallFigures>;

/// The whole run.
#[derive(Debug, Clone, Serialize)]
pub struct Rpc {
    /// How it was made.
    pub origin: Origin,
    /// All cases.
    pub rows: Vec<CallRuns>,
}

/// How a report was made.
#[derive(Debug, Clone, Serialize)]
pub struct Origin {
    /// When it began.
    pub date_utc: String,
    /// As it was started.
    pub command_line: String,
    /// Whether it is too short to be quoted.
    pub quick: bool,
    /// Where.
    pub machine: Machine,
    /// The commit.
    pub revision: Option<String>,
    /// Seconds of a case in a round that are counted.
    pub window_s: f64,
}

impl Origin {
    /// That of a run which begins.
    pub fn new(options: &PairOptions, date_utc: &str, command_line: &str) -> Origin {
        let window = times(options).window;
        Origin::of((options.quick, window), date_utc, command_line)
    }

    /// The same of one whose cases are counted for so long.
    pub fn of((quick, window): (bool, Duration), date_utc: &str, command_line: &str) -> Origin {
        Origin {
            date_utc: date_utc.to_owned(),
            command_line: command_line.to_owned(),
            quick,
            machine: Machine::describe(&std::env::temp_dir()),
            revision: revision(),
            window_s: window.as_secs_f64(),
        }
    }
}

/// How long a case takes.
pub fn times(options: &PairOptions) -> Times {
    let ms = if options.quick {
        (50, 300)
    } else {
        (300, 1_500)
    };
    Times {
        warm: Duration::from_millis(ms.0),
        window: Duration::from_millis(ms.1),
    }
}

/// Carries it out: in every round each case has its turn.
///
/// # Errors
/// When a case fails, or the user stops the run.
pub fn run(
    options: &PairOptions,
    interrupt: &Interrupt,
    origin: Origin,
) -> Result<Rpc, BenchError> {
    let progress = Progress::start();
    let mut rows: Vec<CallRuns> = Runs::all(cases());
    for _ in 0..options.rounds() {
        for row in &mut rows {
            interrupt.check()?;
            let figures = run::run(row.case, times(options))?;
            progress.say(&report::line(row.case, &figures));
            row.runs.push(figures);
        }
    }
    Ok(Rpc { origin, rows })
}
