//! When each request is meant to start.

use std::time::{Duration, Instant};

/// Nanoseconds since the start of one load run.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock that reads 0 now.
    pub fn start() -> Clock {
        Clock {
            origin: Instant::now(),
        }
    }

    /// Nanoseconds since the start.
    pub fn now_ns(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A constant rate shared evenly by the connections: connection `c` of `n` starts its request
/// `k` at `(k + c / n)` of its own intervals, so the whole is evenly spaced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    interval_ns: f64,
    connections: u64,
}

impl Schedule {
    /// `rate_per_s` over all connections. Rates below one a thousand seconds are raised to that.
    pub fn new(rate_per_s: f64, connections: usize) -> Schedule {
        let connections = connections.max(1) as u64;
        Schedule {
            interval_ns: 1e9 * connections as f64 / rate_per_s.max(0.001),
            connections,
        }
    }

    /// The intended start of request `sequence` (from 0) of `connection`, in ns from the start.
    pub fn intended_ns(&self, connection: usize, sequence: u64) -> u64 {
        let offset = connection as f64 / self.connections as f64;
        ((sequence as f64 + offset) * self.interval_ns) as u64
    }

    /// How many requests all connections are meant to start in `[from_ns, to_ns)`.
    pub fn count(&self, from_ns: u64, to_ns: u64) -> u64 {
        (0..self.connections)
            .map(|connection| {
                let before = |limit_ns: u64| {
                    // The estimate may be off by one on either side through rounding.
                    let mut sequence = (limit_ns as f64 / self.interval_ns) as u64 + 1;
                    while sequence > 0
                        && self.intended_ns(connection as usize, sequence - 1) >= limit_ns
                    {
                        sequence -= 1;
                    }
                    sequence
                };
                before(to_ns) - before(from_ns)
            })
            .sum()
    }
}

/// Nanoseconds of a duration, saturating.
pub fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "clock_tests.rs"]
mod tests;
