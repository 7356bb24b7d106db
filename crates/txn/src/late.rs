//! The times of clients beside timestamps: which write is late, and which one waits. Pure.
//!
//! A client says until when its write may have a timestamp, and above which time. While timestamps follow the clock, these
//! are timestamps. After clocks were ahead everywhere and are right again, timestamps are ahead of all clocks for as long:
//! then a write is too late once the clock has passed its deadline, and one with a floor waits until the clock has. Of two
//! writes, one with the other's deadline as its floor, the second has the greater timestamp in both cases, for timestamps
//! grow: it got its own after the moment at which the first could no longer get one.

use dunlin_entry::Version;

/// A node's clock.
#[derive(Debug, Clone, Copy)]
pub struct Wall {
    /// Milliseconds since 1970.
    pub now_ms: u64,
    /// How far ahead of it timestamps may be while the times of clients are timestamps, in milliseconds.
    pub bound_ms: u64,
}

impl Wall {
    /// None is known: times of clients are timestamps.
    pub const UNKNOWN: Wall = Wall {
        now_ms: u64::MAX,
        bound_ms: 0,
    };

    /// Whether a write that would have this timestamp is too late.
    pub fn is_late(self, at: Version, deadline: Version) -> bool {
        if self.is_followed_by(at) {
            at > deadline
        } else {
            self.now_ms > deadline.millis()
        }
    }

    /// How long a write above a floor waits before it may have a timestamp like this one, in milliseconds.
    pub fn wait_ms(self, at: Version, floor: Version) -> u64 {
        if floor > Version(0) && !self.is_followed_by(at) {
            (floor.millis().saturating_add(1)).saturating_sub(self.now_ms)
        } else {
            0
        }
    }

    /// Whether timestamps follow this clock.
    fn is_followed_by(self, at: Version) -> bool {
        at.millis() <= self.now_ms.saturating_add(self.bound_ms)
    }
}

#[cfg(test)]
#[path = "late_tests.rs"]
mod tests;
