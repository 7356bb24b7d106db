//! How long to wait before the next attempt to connect.
use std::time::Duration;

/// Doubling waits between two bounds, each shortened at random by up to half, so that peers that
/// lost a node together do not all come back at the same moment. The same seed waits the same.
pub(crate) struct Backoff {
    min: Duration,
    max: Duration,
    next: Duration,
    seed: u64,
}

impl Backoff {
    pub fn new(min: Duration, max: Duration, seed: u64) -> Self {
        Self {
            min,
            max,
            next: min,
            seed,
        }
    }

    /// Starts again at the shortest wait.
    pub fn reset(&mut self) {
        self.next = self.min;
    }

    pub fn next(&mut self) -> Duration {
        let longest = self.next;
        self.next = (longest * 2).min(self.max);
        let sixteenths = (self.random() >> 60) as u32;
        longest / 2 + longest / 32 * sixteenths
    }

    /// splitmix64.
    fn random(&mut self) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
#[path = "backoff_tests.rs"]
mod tests;
