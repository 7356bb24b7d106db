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

fn stalls() -> (Rc<Stalls>, Arc<Manual>) {
    let wall = Arc::new(Manual::default());
    (Rc::new(Stalls::new(wall.clone(), 10_000)), wall)
}

/// The wall goes on while nobody looks; the monotonic clock need not.
fn pass(wall: &Manual, ms: u64) {
    wall.0.fetch_add(ms, Ordering::Relaxed);
}

fn grace_ends(stalls: &Stalls) {
    let ended = Instant::now().checked_sub(STALL_GRACE * 2);
    stalls.ended.set(ended);
}

const LONG_MS: u64 = 1_500;

#[test]
fn a_gap_above_a_second_is_a_stall() {
    let (stalls, wall) = stalls();
    pass(&wall, 1_000);
    assert_eq!(stalls.observe(), 0);
    pass(&wall, 1_001);
    assert_eq!(stalls.observe(), 1);
    assert_eq!(stalls.observe(), 1);
    // A clock that is set back is none.
    wall.0.store(0, Ordering::Relaxed);
    assert_eq!(stalls.observe(), 1);
    // The monotonic clock tells one, too.
    stalls
        .seen
        .set(Instant::now().checked_sub(STALL * 2).unwrap());
    assert_eq!(stalls.observe(), 2);
    assert_eq!(stalls.jumps(), 0);
    // Only a wall clock that leaves the monotonic one behind has jumped.
    pass(&wall, 10_500);
    stalls.seen.set(Instant::now().checked_sub(STALL).unwrap());
    stalls.observe();
    assert_eq!(stalls.jumps(), 0);
    pass(&wall, 10_500);
    stalls.observe();
    assert_eq!(stalls.jumps(), 1);
}

#[test]
fn what_was_in_the_socket_waited_and_what_came_later_did_not() {
    let (stalls, wall) = stalls();
    let full = Arrivals::new(stalls.clone(), false);
    let empty = Arrivals::new(stalls.clone(), false);
    let partly = Arrivals::new(stalls.clone(), false);
    for each in [&full, &empty, &partly] {
        each.read(true);
        assert!(!each.may_have_waited());
    }
    partly.read(false);
    pass(&wall, LONG_MS);
    stalls.observe();
    for each in [&full, &empty, &partly] {
        assert!(each.is_unclear());
    }
    // Read before the stall, not stamped yet.
    assert!(full.may_have_waited() && empty.may_have_waited());
    empty.was_empty();
    grace_ends(&stalls);
    full.read(true);
    empty.read(true);
    partly.read(true);
    assert!(full.may_have_waited());
    assert!(!empty.may_have_waited());
    assert!(partly.may_have_waited());
    // It stays so: the connection is closed with the answer.
    full.read(true);
    assert!(full.may_have_waited() && full.has_waited());
}

#[test]
fn all_that_comes_right_after_a_stall_waited() {
    let (stalls, wall) = stalls();
    let arrivals = Arrivals::new(stalls.clone(), false);
    pass(&wall, LONG_MS);
    stalls.observe();
    arrivals.was_empty();
    arrivals.read(true);
    assert!(arrivals.may_have_waited());
}

/// The stop may come between any two steps: each read finds it, without the loop's own look.
#[test]
fn a_read_notices_a_stall_by_itself() {
    let (stalls, wall) = stalls();
    let arrivals = Arrivals::new(stalls.clone(), false);
    arrivals.read(true);
    pass(&wall, LONG_MS);
    assert!(arrivals.may_have_waited());
    let arrivals = Arrivals::new(stalls.clone(), false);
    pass(&wall, LONG_MS);
    arrivals.read(true);
    assert!(arrivals.may_have_waited());
    assert!(Arrivals::new(stalls, true).may_have_waited());
}

/// A thousand idle connections are all told of a stall, so that each looks into its socket.
#[test]
fn a_stall_wakes_every_idle_connection() {
    struct Count(AtomicU64);
    impl std::task::Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let (stalls, wall) = stalls();
    let count = Arc::new(Count(AtomicU64::new(0)));
    let waker = Waker::from(count.clone());
    let mut open = Vec::new();
    for number in 0..2_000 {
        let arrivals = Arrivals::new(stalls.clone(), false);
        arrivals.idle(&waker);
        // Every other one is closed again.
        if number % 2 == 0 {
            open.push(arrivals);
        }
    }
    pass(&wall, LONG_MS);
    stalls.observe();
    assert_eq!(count.0.load(Ordering::Relaxed), 1_000);
    assert!(stalls.connections.borrow().len() == 1_000);
}
