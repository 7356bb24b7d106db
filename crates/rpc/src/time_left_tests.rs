use super::*;

#[test]
fn what_is_left_is_rounded_up_and_may_be_endless() {
    for (timeout, ms) in [
        (Duration::ZERO, 0),
        (Duration::from_nanos(1), 1),
        (Duration::from_millis(1), 1),
        (Duration::from_micros(1_001), 2),
        (Duration::from_secs(2), 2_000),
        (Duration::from_millis(u64::from(u32::MAX) - 1), u32::MAX - 1),
        (Duration::from_secs(1 << 40), ENDLESS),
        (Duration::MAX, ENDLESS),
    ] {
        assert_eq!(encode(timeout), ms, "{timeout:?}");
    }
}

#[test]
fn a_call_is_over_when_its_time_is_and_not_before() {
    let received = Instant::now();
    let ms = Duration::from_millis(1);
    for (left_ms, after, over) in [
        (0, Duration::ZERO, true),
        (1, Duration::ZERO, false),
        (1, ms, true),
        (100, 99 * ms, false),
        (100, 100 * ms, true),
        (ENDLESS, Duration::from_secs(1 << 33), false),
    ] {
        let deadline = deadline(left_ms, received);
        assert_eq!(
            is_over(deadline, received + after),
            over,
            "{left_ms} {after:?}"
        );
    }
}
