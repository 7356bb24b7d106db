use super::*;

const PAGE: usize = 512 << 10;
const SPENT: Duration = Duration::from_millis(2);
const BOUND_US: u64 = 10_000;
/// Between calm and late.
const BETWEEN_US: u64 = 4_000;

/// Copies for so long while clients wait so long; answers the bytes copied.
fn copy(pace: &mut Pace, for_: Duration, latency_us: u64) -> usize {
    let (mut passed, mut bytes) = (Duration::ZERO, 0);
    while passed < for_ {
        passed += SPENT + pace.pause(PAGE, SPENT, latency_us);
        bytes += PAGE;
    }
    bytes
}

#[test]
fn it_goes_as_fast_as_it_can_while_clients_do_not_wait() {
    let mut pace = Pace::new(BOUND_US);
    copy(&mut pace, Duration::from_secs(10), 500);
    assert_eq!(pace.pause(PAGE, SPENT, 500), Duration::ZERO);
}

#[test]
fn it_allows_itself_little_more_than_it_reaches() {
    let mut pace = Pace::new(BOUND_US);
    copy(&mut pace, Duration::from_secs(60), 500);
    let reached = PAGE as f64 / SPENT.as_secs_f64();
    assert!(pace.bytes_per_s() as f64 <= 2.01 * reached);
}

#[test]
fn what_it_yields_to_clients_is_felt_at_once() {
    let mut pace = Pace::new(BOUND_US);
    copy(&mut pace, Duration::from_secs(10), 500);
    let fast = copy(&mut pace, SETTLE, 500);
    pace.pause(PAGE, SPENT, BOUND_US);
    let yielded = copy(&mut pace, SETTLE, BETWEEN_US);
    assert!(yielded < fast * 7 / 10, "{yielded} after {fast}");
}

#[test]
fn it_yields_step_by_step_and_never_stops() {
    let mut pace = Pace::new(BOUND_US);
    copy(&mut pace, Duration::from_secs(5), 500);
    let before = pace.bytes_per_s();
    pace.pause(PAGE, SPENT, 2 * BOUND_US);
    let after = pace.bytes_per_s();
    assert!(after < before);
    // The same latency, seen again at once, is still that of the faster copy.
    pace.pause(PAGE, SPENT, 2 * BOUND_US);
    assert_eq!(pace.bytes_per_s(), after);
    for _ in 0..1_000 {
        let pause = pace.pause(PAGE, SPENT, 2 * BOUND_US);
        assert!(pause <= Duration::from_secs(1));
    }
    assert_eq!(pace.bytes_per_s(), BYTES_PER_S_MIN as u64);
}

#[test]
fn it_is_fast_again_within_seconds_however_slow_it_was() {
    let mut pace = Pace::new(BOUND_US);
    copy(&mut pace, Duration::from_secs(30), 2 * BOUND_US);
    assert_eq!(pace.bytes_per_s(), BYTES_PER_S_MIN as u64);
    copy(&mut pace, Duration::from_secs(8), 500);
    assert!(pace.bytes_per_s() > 50_000_000, "{}", pace.bytes_per_s());
}

#[test]
fn between_calm_and_late_it_stays() {
    let mut pace = Pace::new(BOUND_US);
    let before = pace.bytes_per_s();
    copy(&mut pace, Duration::from_secs(5), BETWEEN_US);
    assert_eq!(pace.bytes_per_s(), before);
}

#[test]
fn pages_without_anything_for_it_do_not_stop_it() {
    let mut pace = Pace::new(BOUND_US);
    for _ in 0..10_000 {
        assert_eq!(pace.pause(0, SPENT, 500), Duration::ZERO);
    }
    assert!(pace.bytes_per_s() >= BYTES_PER_S_MIN as u64);
}

#[test]
fn nobody_waits_so_nothing_holds_it_up() {
    let mut pace = Pace::new(BOUND_US);
    for _ in 0..100 {
        assert_eq!(pace.pause(PAGE, SPENT, 0), Duration::ZERO);
    }
}

#[test]
fn when_clients_come_it_goes_on_as_it_did_with_them() {
    let mut pace = Pace::new(BOUND_US);
    copy(&mut pace, Duration::from_secs(3), 500);
    let with_clients = pace.bytes_per_s();
    copy(&mut pace, Duration::from_secs(60), 0);
    assert!(pace.bytes_per_s() > 5 * with_clients, "as fast as it can");
    pace.pause(PAGE, SPENT, BETWEEN_US);
    assert_eq!(pace.bytes_per_s(), with_clients);
}
