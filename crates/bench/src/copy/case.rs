//! One source, copied in every way.

use serde::Serialize;

use super::Session;
use super::run::Run;
use super::source::{Holds, Source};
use super::way::{Bound, Way, dunlin, in_turn};
use crate::error::BenchError;
use crate::interval::Interval;
use crate::spread::Spread;

/// One source and its copies.
#[derive(Debug, Clone, Serialize)]
pub struct Case {
    /// What was copied.
    #[serde(flatten)]
    pub holds: Holds,
    /// Every way that there is here.
    pub ways: Vec<Copies>,
    /// What bounds them.
    pub bounds: Vec<Bounded>,
}

/// The copies of one way; the n-th of every way were made in the same round.
#[derive(Debug, Clone, Serialize)]
pub struct Copies {
    /// Which.
    pub way: Way,
    /// All its runs.
    #[serde(flatten)]
    pub taken: Taken,
}

/// Runs of one kind, and what they come to.
#[derive(Debug, Clone, Serialize)]
pub struct Taken {
    /// Bytes of keys and values a second.
    pub bytes_per_s: Spread,
    /// CPU of the sender for a gigabyte of keys and values.
    pub sender_cpu_s_per_gb: Spread,
    /// The same of the receiver; `None` where there is none.
    pub receiver_cpu_s_per_gb: Option<Spread>,
    /// The most memory the sender had in any run.
    pub sender_peak_bytes: u64,
    /// The same of the receiver.
    pub receiver_peak_bytes: Option<u64>,
    /// Coefficient of variation of the rate over time; `None` where it was not followed.
    pub rate_cv: Option<Spread>,
    /// One by one.
    pub runs: Vec<Run>,
}

/// What bounds them, measured.
#[derive(Debug, Clone, Serialize)]
pub struct Bounded {
    /// Which.
    pub bound: Bound,
    /// Bytes a second, of files or of what was sent.
    pub bytes_per_s: Spread,
    /// One by one.
    pub runs_bytes_per_s: Vec<f64>,
}

impl Case {
    /// The copies of a way, if there are any.
    pub fn way(&self, way: Way) -> Option<&Taken> {
        let copies = self.ways.iter().find(|copies| copies.way == way);
        copies.map(|copies| &copies.taken)
    }

    /// The rate of one way over that of another, of the same rounds.
    pub fn ratio(&self, way: Way, over: Way) -> Option<Interval> {
        let ratio = Interval::of_ratios(&self.way(way)?.rates(), &self.way(over)?.rates());
        (ratio.count > 0).then_some(ratio)
    }
}

impl Taken {
    /// What runs that copied `bytes` each come to.
    pub fn of(runs: Vec<Run>, bytes: u64) -> Taken {
        let gb = bytes as f64 / 1e9;
        let spread = |number: &dyn Fn(&Run) -> Option<f64>| {
            let numbers: Vec<f64> = runs.iter().filter_map(number).collect();
            (!numbers.is_empty()).then(|| Spread::of(numbers))
        };
        Taken {
            bytes_per_s: Spread::of(runs.iter().map(|run| run.bytes_per_s)),
            sender_cpu_s_per_gb: Spread::of(runs.iter().map(|run| run.sender.cpu_s / gb)),
            receiver_cpu_s_per_gb: spread(&|run| Some(run.receiver?.cpu_s / gb)),
            sender_peak_bytes: runs
                .iter()
                .map(|run| run.sender.peak_bytes)
                .max()
                .unwrap_or(0),
            receiver_peak_bytes: runs
                .iter()
                .filter_map(|run| Some(run.receiver?.peak_bytes))
                .max(),
            rate_cv: spread(&|run| run.rates.as_ref()?.cv),
            runs,
        }
    }

    /// Bytes a second of each run.
    pub fn rates(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.bytes_per_s).collect()
    }

    /// The run whose rate is in the middle.
    pub fn typical(&self) -> Option<&Run> {
        let mut sorted: Vec<&Run> = self.runs.iter().collect();
        sorted.sort_by(|a, b| a.bytes_per_s.total_cmp(&b.bytes_per_s));
        sorted.get(sorted.len() / 2).copied()
    }
}

/// A step of a round.
#[derive(Clone, Copy)]
enum Step {
    Copy(usize),
    Bound(usize),
}

/// Copies a source in every way that is installed, round by round, each round beginning with
/// another way. The copies of the first round are compared with the source pair by pair.
///
/// # Errors
/// When a copy fails or is not equal, or the user stops the run.
pub fn measure(session: &Session, source: &Source, repeats: usize) -> Result<Case, BenchError> {
    let (ways, bounds) = (session.programs.ways(), session.programs.bounds());
    let mut runs: Vec<Vec<Run>> = vec![Vec::new(); ways.len()];
    let mut rates: Vec<Vec<f64>> = vec![Vec::new(); bounds.len()];
    let steps: Vec<Step> = (0..ways.len())
        .map(Step::Copy)
        .chain((0..bounds.len()).map(Step::Bound))
        .collect();
    for round in 0..repeats {
        for step in in_turn(&steps, round) {
            session.begin_afresh()?;
            match step {
                Step::Copy(at) => {
                    let run = ways[at].run(session, source)?;
                    session.say_run(source, ways[at].name(), (round, repeats), &run);
                    runs[at].push(run);
                    if round == 0 {
                        dunlin::verify(session, source)?;
                    }
                }
                Step::Bound(at) => rates[at].push(bounds[at].run(session, source)?),
            }
        }
    }
    session.begin_afresh()?;
    let bytes = source.holds.bytes;
    let copies = ways.into_iter().zip(runs).map(|(way, runs)| Copies {
        way,
        taken: Taken::of(runs, bytes),
    });
    let bounded = bounds.into_iter().zip(rates).map(|(bound, rates)| Bounded {
        bound,
        bytes_per_s: Spread::of(rates.iter().copied()),
        runs_bytes_per_s: rates,
    });
    Ok(Case {
        holds: source.holds,
        ways: copies.collect(),
        bounds: bounded.collect(),
    })
}

#[cfg(test)]
#[path = "case_tests.rs"]
mod tests;
