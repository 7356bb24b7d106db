//! The numbers of paper 004, and those seen elsewhere for orientation.

use crate::load::http::Verb;

/// Connections of the paper's load.
pub const CONNECTIONS: usize = 4;

/// One row of its tables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Table {
    /// Rate offered.
    pub rate_per_s: f64,
    /// Share under 2 ms, 0 to 1.
    pub share_under_2ms: f64,
    /// Mean latency.
    pub latency_us_mean: f64,
    /// The highest rate with 95 % under 2 ms, by its text.
    pub best_per_s: f64,
}

/// What the paper has for a verb, without replication or with three replicas.
pub fn table(verb: Verb, replicated: bool) -> Table {
    let (rate_per_s, share_under_2ms, latency_us_mean, best_per_s) = match (verb, replicated) {
        (Verb::Put, false) => (15_000.0, 0.85, 1_570.0, 12_500.0),
        (Verb::Put, true) => (6_000.0, 0.85, 1_710.0, 4_500.0),
        (Verb::Get, false) => (15_000.0, 0.83, 1_640.0, 12_500.0),
        (Verb::Get, true) => (6_000.0, 0.90, 1_390.0, 6_000.0),
    };
    Table {
        rate_per_s,
        share_under_2ms,
        latency_us_mean,
        best_per_s,
    }
}
