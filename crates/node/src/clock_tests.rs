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

const BOUND_MS: u64 = 10_000;
const NONE: Version = Version::MAX;

fn at(ms: u64) -> (Arc<Manual>, HybridClock) {
    let wall = Arc::new(Manual(AtomicU64::new(ms)));
    let clock = HybridClock::new(wall.clone(), Version(0), BOUND_MS);
    (wall, clock)
}

#[test]
fn grows_when_the_wall_stands_still_or_goes_back() {
    let (wall, clock) = at(1_000);
    let first = clock.next(Version(0), NONE).unwrap();
    assert_eq!(first.millis(), 1_000);
    wall.0.store(10, Ordering::Relaxed);
    let second = clock.next(Version(0), NONE).unwrap();
    assert!(second > first);
    wall.0.store(2_000, Ordering::Relaxed);
    assert_eq!(clock.next(Version(0), NONE), Some(Version::new(2_000, 0)));
}

#[test]
fn stays_above_what_it_observes_within_the_bound() {
    let (_, clock) = at(0);
    assert!(clock.observe(Version::new(5_000, 65_535)));
    assert_eq!(clock.next(Version(0), NONE), Some(Version::new(5_001, 0)));
    assert!(clock.observe(Version::new(10_000, 0)));
    let before = clock.now();
    for beyond in [
        Version::new(10_000, 1),
        Version::new(99_000, 0),
        Version::MAX,
    ] {
        assert!(!clock.observe(beyond));
        assert_eq!(clock.now(), before);
    }
}

#[test]
fn a_start_does_not_take_a_stored_stamp_beyond_the_bound_for_the_time() {
    let wall = Arc::new(Manual(AtomicU64::new(1_000)));
    let clock = HybridClock::new(wall, Version::new(1 << 47, 0), BOUND_MS);
    assert_eq!(clock.next(Version(0), NONE), Some(Version::new(1_000, 0)));
}

#[test]
fn stamps_above_the_floor_up_to_the_deadline_or_not_at_all() {
    let (wall, clock) = at(1_000);
    let v = Version::new;
    assert_eq!(clock.next(v(2_000, 0), NONE), Some(v(2_000, 1)));
    assert_eq!(clock.next(Version(0), v(2_000, 2)), Some(v(2_000, 2)));
    // Too late: the clock does not move.
    assert_eq!(clock.next(Version(0), v(2_000, 2)), None);
    assert_eq!(clock.next(v(9_000, 0), v(9_000, 0)), None);
    assert_eq!(clock.now(), v(2_000, 2));
    wall.0.store(3_000, Ordering::Relaxed);
    assert_eq!(clock.next(Version(0), v(2_999, 65_535)), None);
    assert_eq!(clock.next(Version(0), v(3_000, 0)), Some(v(3_000, 0)));
}

#[test]
fn nothing_overflows_at_the_end_of_time() {
    let (wall, clock) = at(u64::MAX);
    assert_eq!(clock.limit(), Version::MAX);
    assert!(clock.observe(Version::MAX));
    assert_eq!(clock.next(Version(0), NONE), None);
    wall.0.store(0, Ordering::Relaxed);
    assert_eq!(clock.next(Version(0), NONE), None);
    let (_, clock) = at(0);
    assert_eq!(clock.next(Version::MAX, NONE), None);
}

#[test]
fn a_wall_set_back_leaves_the_clock_beyond_the_bound_until_it_is_there_again() {
    let (wall, clock) = at(100_000);
    assert!(clock.next(Version(0), NONE).is_some());
    assert!(!clock.is_beyond());
    wall.0.store(100_000 - BOUND_MS, Ordering::Relaxed);
    assert!(!clock.is_beyond());
    wall.0.store(100_000 - BOUND_MS - 1, Ordering::Relaxed);
    assert!(clock.is_beyond());
    wall.0.store(100_000, Ordering::Relaxed);
    assert!(!clock.is_beyond());
}
