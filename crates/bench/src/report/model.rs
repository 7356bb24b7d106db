//! A report as data; its JSON form is exactly this.

use serde::Serialize;

use super::svg::Curve;
use crate::host::disk::SyncRate;
use crate::host::machine::Machine;
use crate::load::http::{Copies, Verb};
use crate::load::key::Order;
use crate::measure::Run;
use crate::options::{Shape, Timing};
use crate::spread::Spread;

/// All that one run of `dunlin-bench quorum` found.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// When it began.
    pub date_utc: String,
    /// How it was called.
    pub command_line: String,
    /// Whether it was too short to be quoted.
    pub quick: bool,
    /// What it ran on.
    pub machine: Machine,
    /// What ran.
    pub programs: Programs,
    /// What was asked.
    pub settings: Settings,
    /// What was to be reached.
    pub targets: Vec<Target>,
    /// The highest rates with 95 % under 2 ms.
    pub cells: Vec<Cell>,
    /// At the very rates of the paper's tables.
    pub at_paper_rates: Vec<Point>,
    /// Closed loops.
    pub closed: Vec<Point>,
    /// Memory before any load.
    pub idle: Idle,
    /// The disk alone.
    pub disk: SyncRate,
    /// With a sync before every acknowledgement.
    pub group_commit: Vec<GroupCommit>,
    /// How long all of it took.
    pub wall_s: f64,
}

/// Versions, as the programs print them.
#[derive(Debug, Clone, Serialize)]
pub struct Programs {
    /// Ours.
    pub dunlin: String,
    /// The commit checked out here, `-dirty` when files differ from it.
    pub revision: Option<String>,
    /// The one that holds the metadata of nodes that are processes.
    pub etcd: Option<String>,
}

/// What was asked of the run.
#[derive(Debug, Clone, Serialize)]
pub struct Settings {
    /// How the nodes ran.
    pub cluster: Shape,
    /// Connections swept.
    pub connections: Vec<usize>,
    /// Bytes in a value.
    pub value_bytes: usize,
    /// Order of the written keys.
    pub keys: Order,
    /// Durations and counts.
    pub timing: Timing,
}

/// One target of issue 2.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Target {
    /// What.
    pub what: String,
    /// What is wanted, in words.
    pub wanted: String,
    /// What was measured, in words.
    pub measured: String,
    /// Whether it is met; `None` when it was not measured.
    pub met: Option<bool>,
}

/// A verb, a number of copies and of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Case {
    /// What is asked.
    pub verb: Verb,
    /// Of how many copies.
    pub copies: Copies,
    /// By how many connections.
    pub connections: usize,
}

impl Case {
    /// In words.
    pub fn name(&self) -> String {
        let copies = if self.copies.from == 1 {
            "1 copy"
        } else {
            "3 copies"
        };
        format!(
            "{} {copies}, {} connections",
            self.verb.name(),
            self.connections
        )
    }

    /// Copies that take part in a request: all for a write, those asked for a read.
    pub fn replicas_at_work(&self) -> u8 {
        match self.verb {
            Verb::Put => self.copies.from,
            Verb::Get => self.copies.ack,
        }
    }
}

/// The highest rate of a case, by sweep and full runs.
#[derive(Debug, Clone, Serialize)]
pub struct Cell {
    /// The case.
    #[serde(flatten)]
    pub case: Case,
    /// The rate found.
    pub rate_per_s: f64,
    /// Whether full runs held it; otherwise only probes did.
    pub confirmed: bool,
    /// Every probe of the sweep.
    pub probes: Vec<Probe>,
    /// Full runs at that rate.
    pub runs: Vec<Run>,
    /// Their medians.
    pub summary: Summary,
}

/// One short run of a sweep.
#[derive(Debug, Clone, Serialize)]
pub struct Probe {
    /// The rate tried.
    pub rate_per_s: f64,
    /// The rate reached.
    pub reached_per_s: f64,
    /// Share under 2 ms.
    pub share_under_2ms: f64,
    /// Whether that was enough.
    pub held: bool,
}

/// Medians over the runs of one case.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// Requests answered per second.
    pub rate_per_s: Spread,
    /// Share under 2 ms, 0 to 1.
    pub share_under_2ms: Spread,
    /// Mean latency.
    pub latency_us_mean: Spread,
    /// Median latency.
    pub latency_us_p50: Spread,
    /// 90th percentile.
    pub latency_us_p90: Spread,
    /// 95th percentile.
    pub latency_us_p95: Spread,
    /// 99th percentile.
    pub latency_us_p99: Spread,
    /// 99.9th percentile.
    pub latency_us_p999: Spread,
    /// 99.99th percentile.
    pub latency_us_p9999: Spread,
    /// Server CPU per request, with what was put off until after the window.
    pub server_cpu_us: Spread,
    /// Generator CPU per request.
    pub generator_cpu_us: Spread,
    /// Share of CPU time used by others than the servers and the generator.
    pub machine_other: Spread,
    /// Share of CPU time taken by the hypervisor.
    pub machine_steal: Spread,
}

impl Summary {
    /// The medians of some runs.
    pub fn of(runs: &[Run]) -> Summary {
        let spread = |number: fn(&Run) -> f64| Spread::of(runs.iter().map(number));
        Summary {
            rate_per_s: spread(|run| run.rate_per_s),
            share_under_2ms: spread(|run| run.share_under_2ms),
            latency_us_mean: spread(|run| run.latency_us_mean),
            latency_us_p50: spread(|run| run.latency_us_p50 as f64),
            latency_us_p90: spread(|run| run.latency_us_p90 as f64),
            latency_us_p95: spread(|run| run.latency_us_p95 as f64),
            latency_us_p99: spread(|run| run.latency_us_p99 as f64),
            latency_us_p999: spread(|run| run.latency_us_p999 as f64),
            latency_us_p9999: spread(|run| run.latency_us_p9999 as f64),
            server_cpu_us: spread(|run| run.server_cpu_us + run.server_cpu_us_deferred),
            generator_cpu_us: spread(|run| run.generator_cpu_us),
            machine_other: spread(|run| run.machine_other),
            machine_steal: spread(|run| run.machine_steal),
        }
    }
}

/// One run of a case.
#[derive(Debug, Clone, Serialize)]
pub struct Point {
    /// The case.
    #[serde(flatten)]
    pub case: Case,
    /// Its run.
    pub run: Run,
}

/// Memory of the servers before any load.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Idle {
    /// Resident when they first answer.
    pub resident_bytes_at_start: u64,
    /// Resident after five idle seconds.
    pub resident_bytes: u64,
}

/// A closed loop of synced puts.
#[derive(Debug, Clone, Serialize)]
pub struct GroupCommit {
    /// Its run.
    pub run: Run,
    /// Log records per log sync, over all logs; `None` when the servers do not count them.
    pub puts_per_sync: Option<f64>,
}

impl Report {
    /// The latencies to plot: of the first number of connections.
    pub fn curves(&self) -> Vec<Curve> {
        self.cells
            .iter()
            .filter(|cell| Some(&cell.case.connections) == self.settings.connections.first())
            .filter_map(|cell| {
                let run = cell.runs.get(cell.runs.len() / 2)?;
                Some(Curve {
                    name: format!("{} at {:.0}/s", cell.case.name(), cell.rate_per_s),
                    points: run.curve.clone(),
                })
            })
            .collect()
    }
}
