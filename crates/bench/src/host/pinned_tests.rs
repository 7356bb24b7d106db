#![allow(clippy::unwrap_used)]

use std::thread;
use std::time::Instant;

use super::*;

#[test]
fn the_time_of_a_thread_is_its_own() {
    assert_eq!(on_processor_ns("1410911 29 1\n"), Some(1_410_911));
    assert_eq!(on_processor_ns(""), None);
    let busy = thread::spawn(|| {
        let clock = ThreadClock::of_this();
        let (before, began) = (clock.total(), Instant::now());
        while clock.total() - before < Duration::from_millis(20) {
            assert!(began.elapsed() < Duration::from_secs(60));
        }
    });
    busy.join().unwrap();
}

#[test]
fn a_thread_runs_on_one_processor() {
    let pinned = thread::spawn(|| {
        pin(usize::MAX).unwrap();
        let set = sched_getaffinity(Some(gettid())).unwrap();
        assert_eq!(set.count(), 1);
    });
    pinned.join().unwrap();
}
