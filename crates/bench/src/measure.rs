//! One load run with the CPU time it cost.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::cluster::Cluster;
use crate::error::BenchError;
use crate::host::cpu::{Machine, Meter};
use crate::host::switches::switches;
use crate::interrupt::{Interrupt, Interrupted};
use crate::load::generator::{self, Edge, Pace, Plan};
use crate::load::outcome::{GOOD_US, Outcome};
use crate::load::protocol::Protocol;

/// The share of good answers that a rate must keep.
pub const SHARE_WANTED: f64 = 0.95;
/// The share of the intended rate that must be reached for it to count as kept.
const RATE_REACHED: f64 = 0.98;
/// Percentiles of the plotted curve.
const CURVE: [f64; 20] = [
    0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 97.5, 99.0, 99.5, 99.75, 99.9,
    99.95, 99.99, 99.999, 100.0,
];

/// What one run measured.
#[derive(Debug, Clone, Serialize)]
pub struct Run {
    /// Connections.
    pub connections: usize,
    /// The constant rate, `None` for a closed loop.
    pub rate_intended_per_s: Option<f64>,
    /// Requests answered per second of the window.
    pub rate_per_s: f64,
    /// Requests measured.
    pub requests: u64,
    /// Share answered in under 2 ms, 0 to 1.
    pub share_under_2ms: f64,
    /// Mean latency.
    pub latency_us_mean: f64,
    /// Median latency.
    pub latency_us_p50: u64,
    /// 90th percentile.
    pub latency_us_p90: u64,
    /// 95th percentile.
    pub latency_us_p95: u64,
    /// 99th percentile.
    pub latency_us_p99: u64,
    /// 99.9th percentile.
    pub latency_us_p999: u64,
    /// 99.99th percentile.
    pub latency_us_p9999: u64,
    /// CPU of all servers per answered request, inside the window.
    pub server_cpu_us: f64,
    /// CPU that the servers still spent after the window until they were idle, per request.
    pub server_cpu_us_deferred: f64,
    /// Context switches of all servers per answered request, inside the window.
    pub server_switches: f64,
    /// CPU of the generator per answered request.
    pub generator_cpu_us: f64,
    /// Share of the machine's CPU time that was busy in the window, 0 to 1.
    pub machine_busy: f64,
    /// Share that neither the servers nor the generator used: other processes and the kernel.
    pub machine_other: f64,
    /// Share that the hypervisor took away, 0 to 1.
    pub machine_steal: f64,
    /// Wrong answers of every kind, over the whole run.
    pub errors: u64,
    /// The same in words.
    pub errors_text: String,
    /// Requests given up without an answer; their latency so far is counted.
    pub unfinished: u64,
    /// (percentile, latency in us) for the plot.
    pub curve: Vec<(f64, u64)>,
}

impl Run {
    /// Whether every answer was the wanted one.
    pub fn valid(&self) -> bool {
        self.errors == 0
    }

    /// Whether the intended rate was reached.
    pub fn reached(&self) -> bool {
        self.rate_intended_per_s
            .is_none_or(|rate| self.rate_per_s >= rate * RATE_REACHED)
    }

    /// Whether the rate was kept with enough good answers.
    pub fn held(&self) -> bool {
        self.valid() && self.reached() && self.share_under_2ms >= SHARE_WANTED
    }
}

/// Waits until the servers are idle, carries out the plan, and waits again.
///
/// # Errors
/// When the load cannot be carried out or a server ends.
pub fn measure<P: Protocol>(
    cluster: &mut Cluster,
    plan: &Plan,
    protocol: &mut P,
    interrupt: &Interrupt,
) -> Result<Run, BenchError> {
    let pids = cluster.pids();
    let meter = Meter::new(pids.clone());
    settle(&meter, interrupt)?;
    let (mut servers, mut machine) = ([Duration::ZERO; 2], [Machine::default(); 2]);
    let mut switched = [0; 2];
    let mut at_edge = |edge: Edge| {
        servers[edge as usize] = meter.total();
        machine[edge as usize] = Machine::read();
        switched[edge as usize] = switches(&pids);
    };
    let outcome = generator::run(plan, protocol, interrupt, &mut at_edge)?;
    let settled = settle(&meter, interrupt)?;
    cluster.check()?;
    let completed = outcome.completed_in_window.max(1) as f64;
    let per_request = |cpu: Duration| cpu.as_secs_f64() * 1e6 / completed;
    let (busy, steal) = machine[1].shares_since(&machine[0]);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let ours = servers[1].saturating_sub(servers[0]) + outcome.generator_cpu;
    let ours = ours.as_secs_f64() / (outcome.window.as_secs_f64() * cores as f64).max(1e-9);
    Ok(Run {
        server_cpu_us: per_request(servers[1].saturating_sub(servers[0])),
        server_cpu_us_deferred: per_request(settled.saturating_sub(servers[1])),
        server_switches: switched[1].saturating_sub(switched[0]) as f64 / completed,
        machine_busy: busy,
        machine_other: (busy - ours).max(0.0),
        machine_steal: steal,
        ..from_outcome(plan, &outcome)
    })
}

fn from_outcome(plan: &Plan, outcome: &Outcome) -> Run {
    Run {
        connections: plan.connections,
        rate_intended_per_s: match plan.pace {
            Pace::Rate(rate) => Some(rate),
            Pace::Closed => None,
        },
        rate_per_s: outcome.rate_per_s(),
        requests: outcome.measured(),
        share_under_2ms: outcome.share_under(GOOD_US),
        latency_us_mean: outcome.mean_us(),
        latency_us_p50: outcome.percentile_us(50.0),
        latency_us_p90: outcome.percentile_us(90.0),
        latency_us_p95: outcome.percentile_us(95.0),
        latency_us_p99: outcome.percentile_us(99.0),
        latency_us_p999: outcome.percentile_us(99.9),
        latency_us_p9999: outcome.percentile_us(99.99),
        server_cpu_us: 0.0,
        server_cpu_us_deferred: 0.0,
        server_switches: 0.0,
        generator_cpu_us: outcome.generator_us_per_request(),
        machine_busy: 0.0,
        machine_other: 0.0,
        machine_steal: 0.0,
        errors: outcome.errors(),
        errors_text: outcome.errors_text(),
        unfinished: outcome.unfinished,
        curve: CURVE
            .iter()
            .map(|&percentile| (percentile, outcome.percentile_us(percentile)))
            .collect(),
    }
}

/// Waits until the servers use less than a tenth of a core, at most five seconds, so that one
/// run's leftovers do not burden the next; returns their CPU time then.
///
/// # Errors
/// [`Interrupted`] when the user stops the run.
pub fn settle(meter: &Meter, interrupt: &Interrupt) -> Result<Duration, Interrupted> {
    const SAMPLE: Duration = Duration::from_millis(150);
    let start = Instant::now();
    let mut before = meter.total();
    loop {
        interrupt.sleep(SAMPLE)?;
        let now = meter.total();
        if now.saturating_sub(before) < SAMPLE / 10 || start.elapsed() > Duration::from_secs(5) {
            return Ok(now);
        }
        before = now;
    }
}
