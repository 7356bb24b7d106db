//! How fast a client must send, or take what it is sent.

use std::time::Duration;

use tokio::time::Instant;

use crate::limits::PACE_BYTES;

/// A time in which so much must have come or gone.
#[derive(Debug)]
pub(super) struct Pace {
    time: Duration,
    until: Instant,
    bytes: usize,
}

impl Pace {
    pub fn begin(now: Instant, time: Duration) -> Pace {
        Pace {
            time,
            until: now + time,
            bytes: 0,
        }
    }

    /// When it is to be judged.
    pub fn until(&self) -> Instant {
        self.until
    }

    pub fn passed(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Whether enough has passed in it.
    pub fn is_kept(&self) -> bool {
        self.bytes >= PACE_BYTES
    }

    /// To be asked when its time is over: begins another if enough has passed.
    pub fn goes_on(&mut self, now: Instant) -> bool {
        let is_kept = self.is_kept();
        *self = Pace::begin(now, self.time);
        is_kept
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
