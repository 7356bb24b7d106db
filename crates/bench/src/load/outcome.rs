//! What one load run found.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

use super::protocol::Verdict;

const LATENCY_US_MAX: u64 = 60_000_000;
/// The paper's limit for a good answer.
pub const GOOD_US: u64 = 2_000;

/// Counts and latencies of the measured window of one run.
#[derive(Debug, Clone)]
pub struct Outcome {
    latency_us: Histogram<u64>,
    /// Requests answered inside the window, whatever their intended start.
    pub completed_in_window: u64,
    /// The window's true length.
    pub window: Duration,
    /// CPU time of the generator's thread inside the window.
    pub generator_cpu: Duration,
    /// Requests without an answer when the run was given up; their latency so far is counted.
    pub unfinished: u64,
    /// Answers with the wrong content, over the whole run.
    pub wrong_bodies: u64,
    /// Answers with an unexpected status, over the whole run.
    pub statuses: BTreeMap<u16, u64>,
    /// Broken connections and answers that were not understood, over the whole run.
    pub broken: u64,
    /// What the first of those was.
    pub first_error: Option<String>,
}

impl Outcome {
    /// Nothing measured yet.
    ///
    /// # Errors
    /// When the histogram cannot be made, which its constants exclude.
    pub fn new() -> Result<Outcome, hdrhistogram::CreationError> {
        Ok(Outcome {
            latency_us: Histogram::new_with_bounds(1, LATENCY_US_MAX, 3)?,
            completed_in_window: 0,
            window: Duration::ZERO,
            generator_cpu: Duration::ZERO,
            unfinished: 0,
            wrong_bodies: 0,
            statuses: BTreeMap::new(),
            broken: 0,
            first_error: None,
        })
    }

    /// Counts one latency; what is outside 1 us to 60 s is counted as the nearest of these.
    pub fn record_ns(&mut self, latency_ns: u64) {
        self.latency_us
            .saturating_record((latency_ns / 1_000).max(1));
    }

    /// Counts how an answer was judged.
    pub fn judge(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Expected => {}
            Verdict::Status(status) => *self.statuses.entry(status).or_default() += 1,
            Verdict::WrongBody => self.wrong_bodies += 1,
        }
    }

    /// Counts a broken connection.
    pub fn broke(&mut self, error: String) {
        self.broken += 1;
        self.first_error.get_or_insert(error);
    }

    /// Requests with a latency.
    pub fn measured(&self) -> u64 {
        self.latency_us.len()
    }

    /// Answers that were not the wanted ones, of every kind.
    pub fn errors(&self) -> u64 {
        self.wrong_bodies + self.broken + self.statuses.values().sum::<u64>()
    }

    /// The errors in words, empty when there were none.
    pub fn errors_text(&self) -> String {
        let mut parts: Vec<String> = self
            .statuses
            .iter()
            .map(|(status, count)| format!("{count} with status {status}"))
            .collect();
        if self.wrong_bodies > 0 {
            parts.push(format!("{} with the wrong value", self.wrong_bodies));
        }
        if self.broken > 0 {
            let first = self.first_error.as_deref().unwrap_or_default();
            parts.push(format!("{} broken ({first})", self.broken));
        }
        parts.join(", ")
    }

    /// Requests answered per second of the window.
    pub fn rate_per_s(&self) -> f64 {
        self.completed_in_window as f64 / self.window.as_secs_f64().max(1e-9)
    }

    /// The share of requests answered in less than `limit_us`, 0 to 1; 0 when there are none.
    pub fn share_under(&self, limit_us: u64) -> f64 {
        if self.measured() == 0 {
            return 0.0;
        }
        let good = self.latency_us.count_between(0, limit_us.saturating_sub(1));
        good as f64 / self.measured() as f64
    }

    /// Mean latency.
    pub fn mean_us(&self) -> f64 {
        self.latency_us.mean()
    }

    /// The latency that `percentile` (0 to 100) percent of requests do not exceed.
    pub fn percentile_us(&self, percentile: f64) -> u64 {
        self.latency_us.value_at_percentile(percentile)
    }

    /// The generator's CPU per answered request.
    pub fn generator_us_per_request(&self) -> f64 {
        self.generator_cpu.as_secs_f64() * 1e6 / self.completed_in_window.max(1) as f64
    }
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
