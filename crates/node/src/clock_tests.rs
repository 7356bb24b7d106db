#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

#[derive(Default)]
struct Manual(AtomicU64);
impl Clock for Manual {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn grows_when_the_wall_stands_still_or_goes_back() {
    let wall = Arc::new(Manual::default());
    wall.0.store(1_000, Ordering::Relaxed);
    let clock = HybridClock::new(wall.clone(), Version(0));
    let first = clock.next();
    assert_eq!(first.millis(), 1_000);
    wall.0.store(10, Ordering::Relaxed);
    let second = clock.next();
    assert!(second > first);
    wall.0.store(2_000, Ordering::Relaxed);
    assert_eq!(clock.next(), Version::new(2_000, 0));
}

#[test]
fn stays_above_what_it_observes() {
    let clock = HybridClock::new(Arc::new(Manual::default()), Version(0));
    clock.observe(Version::new(5_000, 65_535));
    assert_eq!(clock.next(), Version::new(5_001, 0));
}
