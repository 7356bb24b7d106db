//! Times of attempts at writes: until when each may be stamped, and above what.
//!
//! An attempt whose answer is lost may still reach the cluster. Each carries a deadline beyond which
//! it is stamped no more, and what this client writes afterwards is stamped above the deadlines of
//! all it gave up: they cannot come back on top of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use hyper::{HeaderMap, StatusCode};

/// The response header with the server's clock, in milliseconds since 1970.
const TIME_HEADER: &str = "dunlin-time";
/// The response header that is `no` where a write that failed changed nothing and never will.
const WRITTEN_HEADER: &str = "dunlin-written";
/// How long an attempt may take to be stamped, at first.
const WINDOW_MS: u64 = 4_000;
/// A floor further ahead of the servers' clock than this is waited for: they do not stamp far ahead.
const FLOOR_AHEAD_MS: u64 = 5_000;
/// One so far ahead came from a clock that was wrong: no server stamps there.
const FLOOR_ABSURD_MS: u64 = 60_000;
/// An estimate of the servers' clock that was wrong by this made an attempt late, not its length.
const CORRECTED_MS: u64 = 500;

/// What the clones of a client know.
pub(crate) struct Attempts {
    /// The servers' clock less this machine's, in milliseconds.
    offset_ms: AtomicI64,
    /// The greatest deadline of attempts given up.
    floor_ms: AtomicU64,
    window_ms: AtomicU64,
    window_most_ms: u64,
}

/// What an attempt says of its time, in milliseconds since 1970 by the servers' clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) deadline_ms: u64,
    pub(crate) after_ms: Option<u64>,
}

/// An attempt under way. Dropped without an answer that settles it, it is given up.
pub(crate) struct Underway {
    attempts: Arc<Attempts>,
    pub(crate) times: Times,
}

/// What a server's answer says of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It is the caller's.
    Final,
    /// It came too late by a clock or a length that is known better now: send it again.
    Again,
}

impl Attempts {
    pub(crate) fn new(timeout: Duration) -> Arc<Attempts> {
        let most_ms = timeout.as_millis().min(u128::from(u32::MAX)) as u64;
        Arc::new(Attempts {
            offset_ms: AtomicI64::new(0),
            floor_ms: AtomicU64::new(0),
            window_ms: AtomicU64::new(WINDOW_MS.min(most_ms.max(1))),
            window_most_ms: most_ms.max(1),
        })
    }

    /// Begins an attempt, once the floor is near enough.
    pub(crate) async fn begin(self: &Arc<Self>) -> Underway {
        loop {
            let now_ms = local_ms();
            match self.pause_ms(now_ms) {
                0 => {
                    return Underway {
                        attempts: Arc::clone(self),
                        times: self.times(now_ms),
                    };
                }
                // Others may give up meanwhile, and raise the floor.
                pause_ms => tokio::time::sleep(Duration::from_millis(pause_ms)).await,
            }
        }
    }

    fn server_ms(&self, local_ms: u64) -> u64 {
        local_ms.saturating_add_signed(self.offset_ms.load(Ordering::Relaxed))
    }

    fn floor_ms(&self, server_ms: u64) -> u64 {
        let floor_ms = self.floor_ms.load(Ordering::Relaxed);
        if floor_ms > server_ms.saturating_add(FLOOR_ABSURD_MS.max(self.window_most_ms)) {
            0
        } else {
            floor_ms
        }
    }

    fn pause_ms(&self, local_ms: u64) -> u64 {
        let server_ms = self.server_ms(local_ms);
        self.floor_ms(server_ms)
            .saturating_sub(server_ms.saturating_add(FLOOR_AHEAD_MS))
    }

    fn times(&self, local_ms: u64) -> Times {
        let server_ms = self.server_ms(local_ms);
        let floor_ms = self.floor_ms(server_ms);
        let window_ms = self.window_ms.load(Ordering::Relaxed);
        Times {
            deadline_ms: server_ms.max(floor_ms).saturating_add(window_ms),
            after_ms: (floor_ms > 0).then_some(floor_ms),
        }
    }

    fn give_up(&self, deadline_ms: u64) {
        self.floor_ms.fetch_max(deadline_ms, Ordering::Relaxed);
    }

    /// Takes note of a server's clock; by how much the estimate was wrong, in milliseconds.
    fn learn(&self, headers: &HeaderMap, local_ms: u64) -> u64 {
        let told = headers.get(TIME_HEADER).and_then(|v| v.to_str().ok());
        let Some(server_ms) = told.and_then(|text| text.parse::<u64>().ok()) else {
            return 0;
        };
        let offset_ms = i64::try_from(i128::from(server_ms) - i128::from(local_ms)).unwrap_or(0);
        let before_ms = self.offset_ms.swap(offset_ms, Ordering::Relaxed);
        offset_ms.abs_diff(before_ms)
    }
}

impl Underway {
    /// Takes a server's answer; `tries` attempts at this server were answered so before.
    pub(crate) fn answered(self, status: StatusCode, headers: &HeaderMap, tries: u32) -> Answer {
        let attempts = Arc::clone(&self.attempts);
        let corrected_ms = attempts.learn(headers, local_ms());
        // These say that the write is done, or for certain that nothing was written.
        let is_unwritten = headers.get(WRITTEN_HEADER).is_some_and(|v| v == "no");
        if status.is_success() || status.is_client_error() || is_unwritten {
            self.settle();
        }
        let is_clock = corrected_ms >= CORRECTED_MS;
        match status {
            StatusCode::BAD_REQUEST if is_clock && tries == 0 => Answer::Again,
            StatusCode::REQUEST_TIMEOUT if is_clock && tries == 0 => Answer::Again,
            StatusCode::REQUEST_TIMEOUT if attempts.lengthen() => Answer::Again,
            _ => Answer::Final,
        }
    }

    /// What became of it is known.
    pub(crate) fn settle(mut self) {
        self.times.deadline_ms = 0;
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.attempts.give_up(self.times.deadline_ms);
    }
}

impl Attempts {
    /// Gives attempts more time, as for a long body over a slow network; false when they have all.
    fn lengthen(&self) -> bool {
        let window_ms = self.window_ms.load(Ordering::Relaxed);
        let longer_ms = window_ms.saturating_mul(2).min(self.window_most_ms);
        self.window_ms.fetch_max(longer_ms, Ordering::Relaxed);
        longer_ms > window_ms
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "deadlines are times of day; the client is outside the simulation"
)]
pub(crate) fn local_ms() -> u64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
#[path = "attempt_tests.rs"]
mod tests;
