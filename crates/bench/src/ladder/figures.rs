//! What a case came to.

use std::time::Duration;

use serde::Serialize;

use crate::spread::percentile_us;

/// What a case came to.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct StepFigures {
    /// Transactions a second.
    pub per_s: f64,
    /// Microseconds of one with all its attempts, median.
    pub p50_us: f64,
    /// 99 of 100.
    pub p99_us: f64,
    /// Attempts that were refused, for each transaction: none where nobody is in the way.
    pub refused: f64,
    /// CPU of all servers for each, in microseconds.
    pub server_us: f64,
}

/// Those of transactions that took so long each, all together, and of the servers' CPU.
pub fn figures(mut took: Vec<Duration>, all: Duration, cpu: Duration) -> StepFigures {
    took.sort_unstable();
    StepFigures {
        per_s: took.len() as f64 / all.as_secs_f64(),
        p50_us: percentile_us(&took, 50),
        p99_us: percentile_us(&took, 99),
        refused: 0.0,
        server_us: cpu.as_secs_f64() * 1e6 / (took.len() as f64).max(1.0),
    }
}
