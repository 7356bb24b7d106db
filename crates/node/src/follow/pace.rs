//! How fast a copy may go. Pure: it grows while clients hardly wait, yields when they wait longer,
//! and never allows much more than what was reached, so that it has not far to fall.

use std::time::Duration;

/// A copy begins with this, and always goes at least this fast, or it would never end; where nothing else
/// is said.
const BYTES_PER_S_MIN: f64 = 4_000_000.0;
/// How much faster a second later, while clients wait no longer than `CALM`.
const FASTER_PER_S: f64 = 2.0;
/// Allowed beyond what was reached.
const AHEAD: f64 = 2.0;
/// What is left of the rate when clients wait longer than `LATE`.
const SLOWER: f64 = 0.5;
/// As a share of what clients are promised: up to here the rate grows.
const CALM: f64 = 0.3;
/// From here on it yields: what is measured is some time ago, and more may be on its way.
const LATE: f64 = 0.5;
/// A latency covers the last half second: a change of the rate shows only after some time.
const SETTLE: Duration = Duration::from_millis(500);
/// Over how long the rate reached is averaged, in seconds.
const REACHED_OVER_S: f64 = 1.0;
/// The longest pause at once, so that the rate can follow.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The rate of a copy.
#[derive(Debug)]
pub(crate) struct Pace {
    latency_us_max: u64,
    bytes_per_s_min: f64,
    bytes_per_s: f64,
    reached_bytes_per_s: f64,
    since_slower: Duration,
    /// Whether nobody waits.
    is_free: bool,
}

impl Pace {
    /// Keeps latencies at most at `latency_us_max`, in microseconds.
    pub fn new(latency_us_max: u64) -> Pace {
        Pace::at_least(BYTES_PER_S_MIN, latency_us_max)
    }

    /// The same, but never slower than this.
    pub fn at_least(bytes_per_s_min: f64, latency_us_max: u64) -> Pace {
        Pace {
            latency_us_max,
            bytes_per_s_min,
            bytes_per_s: bytes_per_s_min,
            reached_bytes_per_s: bytes_per_s_min,
            since_slower: Duration::MAX,
            is_free: false,
        }
    }

    /// Forgets what earlier copies have reached.
    pub fn begin(&mut self) {
        *self = Pace::at_least(self.bytes_per_s_min, self.latency_us_max);
    }

    /// How long to wait after `bytes` that took `spent`, when clients now wait `latency_us`; 0 is that
    /// there are hardly any: then not at all, and when they come it goes on at the rate it had with them.
    pub fn pause(&mut self, bytes: usize, spent: Duration, latency_us: u64) -> Duration {
        self.is_free = latency_us == 0;
        if self.is_free {
            self.since_slower = self.since_slower.saturating_add(spent);
            self.reach(bytes, spent.as_secs_f64());
            return Duration::ZERO;
        }
        let late = latency_us as f64 / self.latency_us_max as f64;
        if late > LATE && self.since_slower >= SETTLE {
            let from = self.bytes_per_s.min(self.reached_bytes_per_s);
            self.bytes_per_s = (from * SLOWER).max(self.bytes_per_s_min);
            self.since_slower = Duration::ZERO;
        }
        let due = Duration::from_secs_f64(bytes as f64 / self.bytes_per_s);
        let pause = due.saturating_sub(spent).min(PAUSE_MAX);
        let took = spent + pause;
        self.since_slower = self.since_slower.saturating_add(took);
        self.reach(bytes, took.as_secs_f64());
        if late <= CALM {
            let faster = self.bytes_per_s * FASTER_PER_S.powf(took.as_secs_f64());
            let ahead = self.reached_bytes_per_s * AHEAD;
            self.bytes_per_s = faster.min(ahead.max(self.bytes_per_s));
        }
        pause
    }

    fn reach(&mut self, bytes: usize, took_s: f64) {
        if took_s > 0.0 {
            let now = bytes as f64 / took_s;
            let weight = 1.0 - (-took_s / REACHED_OVER_S).exp();
            self.reached_bytes_per_s += (now - self.reached_bytes_per_s) * weight;
        }
    }

    /// The rate allowed now, in bytes a second; the one reached where none is set.
    pub fn bytes_per_s(&self) -> u64 {
        if self.is_free {
            self.bytes_per_s.max(self.reached_bytes_per_s) as u64
        } else {
            self.bytes_per_s as u64
        }
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
