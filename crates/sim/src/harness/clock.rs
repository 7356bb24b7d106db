//! The clock of one host: simulated time plus what is wrong with this host's clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use dunlin_node::Clock;

/// Simulated time begins here, in milliseconds since 1970.
pub const EPOCH_MS: u64 = 1_800_000_000_000;

/// Time since the beginning of the run, in milliseconds; the same for all hosts.
#[derive(Clone, Default)]
pub struct SimTime(Arc<AtomicU64>);

impl SimTime {
    /// Milliseconds since the beginning.
    pub fn elapsed_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Moves time to `elapsed_ms`.
    pub fn set(&self, elapsed_ms: u64) {
        self.0.store(elapsed_ms, Ordering::Relaxed);
    }
}

/// One host's wall clock.
pub struct SimClock {
    time: SimTime,
    offset_ms: AtomicI64,
}

impl SimClock {
    /// A clock that is `offset_ms` ahead of true time.
    pub fn new(time: SimTime, offset_ms: i64) -> SimClock {
        SimClock {
            time,
            offset_ms: AtomicI64::new(offset_ms),
        }
    }

    /// Makes the clock so far ahead of true time.
    pub fn set(&self, offset_ms: i64) {
        self.offset_ms.store(offset_ms, Ordering::Relaxed);
    }

    /// How far ahead of true time it is, in milliseconds.
    pub fn offset_ms(&self) -> i64 {
        self.offset_ms.load(Ordering::Relaxed)
    }
}

impl Clock for SimClock {
    fn now_ms(&self) -> u64 {
        (EPOCH_MS + self.time.elapsed_ms()).saturating_add_signed(self.offset_ms())
    }
}
