#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use std::time::Instant;

#[test]
fn a_name_with_spaces_and_parentheses_does_not_shift_the_fields() {
    let stat = "42 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 700 30 0 0 20 0 1 0 99 1 2";
    assert_eq!(process_ticks(stat), Some(730));
    let parent = stat.replace("700 30 0 0", "700 30 5 6");
    assert_eq!(children_ticks(&parent), Some(11));
    assert_eq!(process_ticks("42 (short) S 1 2"), None);
    assert_eq!(process_ticks(""), None);
}

#[test]
fn shares_leave_guest_time_out() {
    let before = machine_ticks("cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 1").unwrap();
    let after = machine_ticks("cpu  30 0 20 35 5 0 0 10 30 0\n").unwrap();
    assert_eq!(after.shares_since(&before), (0.5, 0.1));
    assert_eq!(machine_ticks("intr 1 2"), None);
}

#[test]
fn measures_this_process() {
    let meter = Meter::new(vec![std::process::id()]);
    let before = meter.total();
    // However little of a busy machine this process gets.
    let deadline = Instant::now() + Duration::from_secs(60);
    while meter.total() - before < Duration::from_millis(50) {
        assert!(Instant::now() < deadline, "{:?}", meter.total() - before);
    }
}
