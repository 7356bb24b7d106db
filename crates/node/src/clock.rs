//! Wall clock and the hybrid logical clock built on it.

use std::cell::Cell;
use std::sync::Arc;

use dunlin_entry::Version;

/// Source of wall time. The simulation gives its own, with skew and jumps.
pub trait Clock: Send + Sync + 'static {
    /// Milliseconds since 1970.
    fn now_ms(&self) -> u64;
}

/// The machine's clock.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(
        clippy::disallowed_methods,
        reason = "the one real implementation of Clock"
    )]
    fn now_ms(&self) -> u64 {
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |d| d.as_millis() as u64)
    }
}

/// Hands out versions that grow, follow wall time when it runs ahead of them, and stay above every
/// version seen from elsewhere that is not further than a bound ahead of the wall.
pub struct HybridClock {
    wall: Arc<dyn Clock>,
    last: Cell<Version>,
    /// How far ahead of the wall another's version may be.
    bound_ms: u64,
}

impl HybridClock {
    /// A clock whose first version is above `floor`, when that is within the bound.
    pub fn new(wall: Arc<dyn Clock>, floor: Version, bound_ms: u64) -> Self {
        let clock = HybridClock {
            wall,
            last: Cell::new(Version(0)),
            bound_ms,
        };
        clock.observe(floor);
        clock
    }

    /// A version greater than all given or observed before and than `floor`, but not than
    /// `deadline`: without one the clock does not move.
    pub fn next(&self, floor: Version, deadline: Version) -> Option<Version> {
        let after = self.last.get().max(floor);
        // The counter may overflow into the milliseconds: still greater, which is all that counts.
        let next = self.wall().max(Version(after.0.checked_add(1)?));
        if next > deadline {
            return None;
        }
        self.last.set(next);
        Some(next)
    }

    /// Takes note of a version stamped elsewhere. False when it is beyond the bound: then the clock
    /// stays, and what carries the version is to be refused.
    pub fn observe(&self, version: Version) -> bool {
        if version <= self.last.get() {
            return true;
        }
        let within = version <= self.limit();
        if within {
            self.last.set(version);
        }
        within
    }

    /// The greatest version that is taken over from elsewhere now.
    pub fn limit(&self) -> Version {
        self.wall().plus_ms(self.bound_ms)
    }

    /// The hybrid time: what is stamped next is above it, or it is the wall's.
    pub fn now(&self) -> Version {
        self.wall().max(self.last.get())
    }

    /// Whether what was stamped or seen here is beyond the limit: the wall was set back since. What
    /// is stamped next would be refused everywhere else.
    pub fn is_beyond(&self) -> bool {
        self.is_beyond_at(self.now_ms())
    }

    /// The same, for a wall that was read just now.
    pub fn is_beyond_at(&self, wall_ms: u64) -> bool {
        self.last.get() > Version::new(wall_ms, 0).plus_ms(self.bound_ms)
    }

    /// How far ahead of the wall another's version may be, in milliseconds.
    pub fn bound_ms(&self) -> u64 {
        self.bound_ms
    }

    /// Wall time in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.wall.now_ms()
    }

    fn wall(&self) -> Version {
        Version::new(self.wall.now_ms(), 0)
    }
}

#[cfg(test)]
#[path = "clock_tests.rs"]
mod tests;
