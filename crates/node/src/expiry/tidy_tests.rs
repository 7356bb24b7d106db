#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[tokio::test(start_paused = true)]
async fn a_list_is_gone_through_when_it_has_doubled_and_once_a_day() {
    let now = Instant::now();
    let day = now + INTERVAL;
    let (first, few, many) = (
        Tidy::default(),
        Tidy::done(10, now),
        Tidy::done(1_000_000, now),
    );
    // What was found last, names now, when; whether it is due.
    let cases = [
        (first, 0, now, false),
        (first, 100_000, now, false),
        (first, 100_001, now, true),
        (few, 100_020, now, false),
        (few, 100_021, now, true),
        (many, 2_000_000, now, false),
        (many, 2_100_001, now, true),
        (many, 5, day, true),
        (many, 0, day, false),
        (many, u64::MAX, now, true),
        (Tidy::done(u64::MAX, now), u64::MAX, now, false),
    ];
    for (tidy, names, at, expected) in cases {
        assert_eq!(tidy.is_due(names, at), expected, "{tidy:?} {names}");
    }
}
