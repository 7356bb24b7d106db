//! Paper 003: messages one way between two threads, one processor each, 1 KiB each, 10 bytes back for every five.
//!
//! - [`case`]: who sends, over what; [`mod@run`]: one case; [`iperf`]: iperf3; [`report`]: the tables

use serde::Serialize;

use crate::error::BenchError;
use crate::interrupt::Interrupt;
use crate::options::PairOptions;
use crate::progress::Progress;
use crate::rpc::{Origin, times};
use crate::spread::Runs;

pub mod case;
pub mod iperf;
pub mod report;
pub mod run;

use case::{Messages, Sender, cases};

/// What a case came to.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct MessageFigures {
    /// Messages that arrived, a second.
    pub per_s: f64,
    /// Microseconds from the first of five messages to the answer, median; zero where there is none.
    pub p50_us: f64,
    /// 99 of 100.
    pub p99_us: f64,
    /// CPU of the sender's thread for each message, in microseconds.
    pub sender_us: f64,
    /// CPU of the receiver's thread for each.
    pub receiver_us: f64,
}

/// A case with its runs, one of each round.
pub type MessageRuns = Runs<Messages, MessageFigures>;

/// The whole run.
#[derive(Debug, Clone, Serialize)]
pub struct Transport {
    /// How it was made.
    pub origin: Origin,
    /// All cases.
    pub rows: Vec<MessageRuns>,
}

/// Carries it out: in every round each case has its turn. iperf3 is left out where it is not installed.
///
/// # Errors
/// When a case fails, or the user stops the run.
pub fn run(
    options: &PairOptions,
    interrupt: &Interrupt,
    origin: Origin,
) -> Result<Transport, BenchError> {
    let progress = Progress::start();
    let has_iperf = iperf::is_installed();
    if !has_iperf {
        progress.say("iperf3 is left out: it is not installed (Debian package iperf3)");
    }
    let mut rows: Vec<MessageRuns> = Runs::all(cases());
    rows.retain(|row| has_iperf || !matches!(row.case.sender, Sender::Iperf { .. }));
    for _ in 0..options.rounds() {
        for row in &mut rows {
            interrupt.check()?;
            let figures = run::run(row.case, times(options))?;
            progress.say(&report::line(row.case, &figures));
            row.runs.push(figures);
        }
    }
    Ok(Transport { origin, rows })
}
