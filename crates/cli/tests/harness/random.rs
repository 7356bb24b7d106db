//! Chance from a seed that is printed when a test fails.

use std::time::{Duration, SystemTime};

/// A small generator (xorshift*).
pub struct Random(u64);

impl Random {
    /// From `SEED`, or from the time.
    pub fn from_environment() -> Random {
        let given = std::env::var("SEED").ok();
        let seed = given.and_then(|seed| seed.parse().ok()).unwrap_or_else(|| {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            since.unwrap().as_nanos() as u64
        });
        println!("SEED={seed} (the choices, not the timing, follow from it)");
        Random::new(seed)
    }

    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 16) as usize % bound
    }

    pub fn millis(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.next() % (to - from))
    }
}
