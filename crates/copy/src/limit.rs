//! A limit on bytes a second: a token bucket that the connections share.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What may be sent at once after a pause, as a part of a second's worth.
const BURST_S: f64 = 0.1;

/// The bucket. It may go below zero: whoever emptied it waits until it would be full again.
#[derive(Debug)]
pub(crate) struct Limit {
    bytes_per_s: f64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    tokens: f64,
    filled: Instant,
}

impl Limit {
    /// A limit of `bytes_per_s`, at least one byte.
    pub fn new(bytes_per_s: u64) -> Limit {
        Limit {
            bytes_per_s: bytes_per_s.max(1) as f64,
            state: Mutex::new(State {
                tokens: 0.0,
                filled: Instant::now(),
            }),
        }
    }

    /// Takes `bytes`; answers how long to wait before they may be sent.
    pub fn take(&self, bytes: usize, now: Instant) -> Duration {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let passed_s = now.saturating_duration_since(state.filled).as_secs_f64();
        let full = self.bytes_per_s * BURST_S;
        state.tokens = (state.tokens + passed_s * self.bytes_per_s).min(full) - bytes as f64;
        state.filled = now.max(state.filled);
        Duration::from_secs_f64((-state.tokens / self.bytes_per_s).max(0.0))
    }
}

#[cfg(test)]
#[path = "limit_tests.rs"]
mod tests;
