//! Lag: what is done for a replica that follows the log and falls behind. Pure (decision 40).

use std::time::Duration;

use dunlin_log::Index;
use tokio::time::Instant;

use super::Caps;
use crate::limits::{LAG_MOVES, LAG_SLOWS_MAX, PIN_LEASE};

/// How far a connected replica was at the last looks.
#[derive(Debug)]
pub(crate) struct Lag {
    acked: Index,
    lag_bytes: u64,
    moved: Instant,
    looked: Instant,
    /// For how long writers have been slowed for it since it was last near the log's end.
    slowed: Duration,
}

/// What is done for it until the next look.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Care {
    /// The first record that is kept for it.
    pub pin: Option<Index>,
    /// Writers are slowed; whether more than before, for it falls back further.
    pub slows: Option<bool>,
}

impl Lag {
    /// Of one that has just connected.
    pub fn new(now: Instant) -> Lag {
        Lag {
            acked: 0,
            lag_bytes: 0,
            moved: now,
            looked: now,
            slowed: Duration::ZERO,
        }
    }

    /// It has acknowledged all up to `acked`, and the log behind that has `lag_bytes`.
    pub fn look(&mut self, now: Instant, acked: Index, lag_bytes: u64, caps: Caps) -> Care {
        let passed = now.saturating_duration_since(self.looked);
        if acked > self.acked {
            self.moved = now;
        }
        let still = now.saturating_duration_since(self.moved);
        let is_further = lag_bytes > self.lag_bytes;
        (self.acked, self.lag_bytes, self.looked) = (acked, lag_bytes, now);
        let kept_bytes = caps.retention_bytes.saturating_add(caps.pins_bytes);
        // Near the end it needs nothing that would not be kept anyway.
        if lag_bytes <= caps.retention_bytes / 2 {
            self.slowed = Duration::ZERO;
            return Care::default();
        }
        // Who stands still is as good as gone: nobody waits for it, and its log goes as for one that is.
        let pin = (still < PIN_LEASE).then_some(acked + 1);
        let is_near_the_end = lag_bytes > kept_bytes / 4 * 3;
        let may_slow = still < LAG_MOVES && self.slowed < LAG_SLOWS_MAX;
        let slows = (is_near_the_end && may_slow).then_some(is_further);
        if slows.is_some() {
            self.slowed += passed;
        }
        Care { pin, slows }
    }
}

#[cfg(test)]
#[path = "lag_tests.rs"]
mod tests;
