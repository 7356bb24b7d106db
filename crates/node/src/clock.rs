//! Wall clock and the hybrid logical clock built on it.

use std::cell::Cell;
use std::sync::Arc;

use dunlin_store::Version;

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

/// Hands out versions that grow, follow wall time when it runs ahead of them,
/// and stay above every version seen from elsewhere.
pub struct HybridClock {
    wall: Arc<dyn Clock>,
    last: Cell<Version>,
}

impl HybridClock {
    /// A clock whose first version is above `floor`.
    pub fn new(wall: Arc<dyn Clock>, floor: Version) -> Self {
        HybridClock {
            wall,
            last: Cell::new(floor),
        }
    }

    /// A version greater than all given or observed before.
    pub fn next(&self) -> Version {
        let wall = Version::new(self.wall.now_ms(), 0);
        // The counter may overflow into the milliseconds: still greater, which is all that counts.
        let next = wall.max(Version(self.last.get().0 + 1));
        self.last.set(next);
        next
    }

    /// Takes note of a version stamped elsewhere.
    pub fn observe(&self, version: Version) {
        if version > self.last.get() {
            self.last.set(version);
        }
    }

    /// Wall time in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.wall.now_ms()
    }
}

#[cfg(test)]
#[path = "clock_tests.rs"]
mod tests;
