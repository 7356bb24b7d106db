//! The runs of one condition, and what they come to.

use serde::Serialize;

use super::change::Moved;
use super::felt::Felt;
use super::plan::Condition;
use super::run::{Part, Run};
use crate::spread::Spread;

/// The runs of one condition.
#[derive(Debug, Clone, Serialize)]
pub struct Case {
    /// Which.
    #[serde(flatten)]
    pub condition: Condition,
    /// What clients felt, part by part; none without clients.
    pub felt: Vec<PartFelt>,
    /// What each step took.
    pub steps: Vec<StepTook>,
    /// One by one.
    pub runs: Vec<Run>,
}

/// What clients felt in one part, over all runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartFelt {
    /// The part.
    pub part: String,
    /// Whether data moved in it.
    pub is_moving: bool,
    /// How long it was.
    pub duration_s: Spread,
    /// Requests a second.
    pub rate_per_s: Spread,
    /// Median latency.
    pub latency_us_p50: Spread,
    /// 99th percentile.
    pub latency_us_p99: Spread,
    /// 99.9th percentile.
    pub latency_us_p999: Spread,
    /// The greatest.
    pub latency_us_max: Spread,
    /// Share of its seconds whose 99th percentile was above the bound, 0 to 1.
    pub share_of_seconds_over: Spread,
    /// Share of the machine's CPU time that was busy, 0 to 1.
    pub machine_busy: Spread,
    /// Requests of all runs that failed.
    pub failed: u64,
    /// Requests of all runs.
    pub requests: u64,
}

/// What one step took, over all runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepTook {
    /// The step.
    pub step: String,
    /// From the request until the members were the new ones.
    pub duration_s: Spread,
    /// The part of it until the last stored record was copied.
    pub copy_s: Spread,
    /// Records copied.
    pub records: Spread,
    /// Bytes of their keys and values.
    pub bytes: Spread,
    /// Bytes a second in that part.
    pub bytes_per_s: Spread,
    /// CPU of all nodes for a gigabyte moved, beyond what they needed before; `None` when nothing
    /// moved.
    pub cpu_s_per_gb: Option<Spread>,
}

impl Case {
    /// What runs of a condition come to.
    pub fn of(condition: Condition, runs: Vec<Run>) -> Case {
        let first = runs.first();
        let parts = first.map_or(0, |run| run.parts.len());
        let steps = first.map_or(0, |run| run.moves.len());
        Case {
            condition,
            felt: (0..parts).filter_map(|at| part(&runs, at)).collect(),
            steps: (0..steps).filter_map(|at| step(&runs, at)).collect(),
            runs,
        }
    }

    /// Requests that failed, and all.
    pub fn failed(&self) -> (u64, u64) {
        let sum = |number: fn(&PartFelt) -> u64| self.felt.iter().map(number).sum();
        (sum(|part| part.failed), sum(|part| part.requests))
    }

    /// The run whose worst moving 99th percentile is in the middle.
    pub fn typical(&self) -> Option<&Run> {
        let worst = |run: &Run| {
            let felt = run.moving().filter_map(|part| part.felt);
            felt.map(|felt| felt.latency_us_p99).max()
        };
        let mut sorted: Vec<&Run> = self.runs.iter().collect();
        sorted.sort_by_key(|run| worst(run));
        sorted.get(sorted.len() / 2).copied()
    }
}

fn part(runs: &[Run], at: usize) -> Option<PartFelt> {
    let parts: Vec<(&Part, Felt)> = runs
        .iter()
        .filter_map(|run| run.parts.get(at))
        .filter_map(|part| Some((part, part.felt?)))
        .collect();
    let name = parts.first()?.0.name.clone();
    let spread = |number: &dyn Fn(&Part, &Felt) -> f64| {
        Spread::of(parts.iter().map(|(part, felt)| number(part, felt)))
    };
    let duration_s = |part: &Part| (part.end_s - part.begin_s).max(1e-3);
    Some(PartFelt {
        part: name,
        is_moving: at % 2 == 1,
        duration_s: spread(&|part, _| duration_s(part)),
        rate_per_s: spread(&|part, felt| felt.requests as f64 / duration_s(part)),
        latency_us_p50: spread(&|_, felt| felt.latency_us_p50 as f64),
        latency_us_p99: spread(&|_, felt| felt.latency_us_p99 as f64),
        latency_us_p999: spread(&|_, felt| felt.latency_us_p999 as f64),
        latency_us_max: spread(&|_, felt| felt.latency_us_max as f64),
        share_of_seconds_over: spread(&|part, _| {
            let seconds = part.end_s.floor() - part.begin_s.floor();
            part.seconds_over.unwrap_or(0) as f64 / seconds.max(1.0)
        }),
        machine_busy: spread(&|part, _| part.machine_busy),
        failed: parts.iter().map(|(_, felt)| felt.failed).sum(),
        requests: parts.iter().map(|(_, felt)| felt.requests).sum(),
    })
}

fn step(runs: &[Run], at: usize) -> Option<StepTook> {
    let moves: Vec<&Moved> = runs.iter().filter_map(|run| run.moves.get(at)).collect();
    let spread = |number: fn(&Moved) -> f64| Spread::of(moves.iter().map(|moved| number(moved)));
    let cpu: Vec<f64> = runs.iter().filter_map(|run| run.cpu_s_per_gb(at)).collect();
    Some(StepTook {
        step: moves.first()?.step.clone(),
        duration_s: spread(|moved| moved.duration_s),
        copy_s: spread(|moved| moved.copy_s),
        records: spread(|moved| moved.records as f64),
        bytes: spread(|moved| moved.bytes as f64),
        bytes_per_s: spread(Moved::bytes_per_s),
        cpu_s_per_gb: (!cpu.is_empty()).then(|| Spread::of(cpu)),
    })
}

#[cfg(test)]
#[path = "case_tests.rs"]
mod tests;
