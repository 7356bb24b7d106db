//! How fast a copy may go. Pure: additive increase, multiplicative decrease, by what clients feel.

use std::time::Duration;

/// A copy always goes at least this fast, or it would never end.
const BYTES_PER_S_MIN: f64 = 1_000_000.0;
/// Faster than any disk or network: no limit.
const BYTES_PER_S_MAX: f64 = 4_000_000_000.0;
const BYTES_PER_S_FIRST: f64 = 32_000_000.0;
/// What one good page adds, as a share of the rate.
const FASTER: f64 = 1.05;
/// What is left of the rate when clients wait too long.
const SLOWER: f64 = 0.7;
/// A latency covers the last seconds: a change of the rate shows only after some time.
const SETTLE: Duration = Duration::from_millis(500);
/// The longest pause at once, so that the rate can follow.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The rate of a copy.
#[derive(Debug)]
pub(super) struct Pace {
    latency_us_max: u64,
    bytes_per_s: f64,
    since_slower: Duration,
}

impl Pace {
    /// Keeps latencies at most at `latency_us_max`, in microseconds.
    pub fn new(latency_us_max: u64) -> Pace {
        Pace {
            latency_us_max,
            bytes_per_s: BYTES_PER_S_FIRST,
            since_slower: Duration::MAX,
        }
    }

    /// How long to wait after `bytes` that took `spent`, when clients now wait `latency_us`.
    pub fn pause(&mut self, bytes: usize, spent: Duration, latency_us: u64) -> Duration {
        if latency_us <= self.latency_us_max {
            self.bytes_per_s = (self.bytes_per_s * FASTER).min(BYTES_PER_S_MAX);
        } else if self.since_slower >= SETTLE {
            self.bytes_per_s = (self.bytes_per_s * SLOWER).max(BYTES_PER_S_MIN);
            self.since_slower = Duration::ZERO;
        }
        let due = Duration::from_secs_f64(bytes as f64 / self.bytes_per_s);
        let pause = due.saturating_sub(spent).min(PAUSE_MAX);
        self.since_slower = self.since_slower.saturating_add(spent + pause);
        pause
    }

    /// The rate allowed now, in bytes a second.
    pub fn bytes_per_s(&self) -> u64 {
        self.bytes_per_s as u64
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
