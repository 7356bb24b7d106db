use super::Steady;

#[test]
fn it_is_the_clock_while_that_goes_on_as_time_does() {
    let mut steady = Steady::default();
    for second in 0..100 {
        let now_ms = 1_000_000 + second * 1_000;
        assert_eq!(steady.read(now_ms, second * 1_000), now_ms);
    }
    // A clock that is corrected by a little is followed.
    assert_eq!(steady.read(1_100_200, 100_000), 1_100_200);
}

#[test]
fn a_clock_that_leaps_ahead_is_followed_slowly_and_one_that_comes_back_at_once() {
    const HOUR_MS: u64 = 3_600_000;
    let mut steady = Steady::default();
    assert_eq!(steady.read(1_000_000, 0), 1_000_000);
    let mut last = 0;
    for second in 1..=20 {
        last = steady.read(1_000_000 + HOUR_MS + second * 1_000, second * 1_000);
    }
    assert_eq!(last, 1_025_000);
    assert_eq!(steady.read(1_021_000, 21_000), 1_021_000);
}

#[test]
fn a_clock_that_stays_ahead_is_reached() {
    const HOUR_MS: u64 = 3_600_000;
    let mut steady = Steady::default();
    steady.read(1_000_000, 0);
    let hours = (1..).find(|hour| {
        let now_ms = 1_000_000 + HOUR_MS + hour * HOUR_MS;
        steady.read(now_ms, hour * HOUR_MS) == now_ms
    });
    assert_eq!(hours, Some(4));
}
