#![allow(clippy::unwrap_used)]

use std::thread::sleep;

use super::*;

#[test]
fn only_calls_between_its_moments_count() {
    let times = Times {
        warm: Duration::from_millis(20),
        window: Duration::from_millis(60),
    };
    let tally = Tally::new(times, ThreadClock::of_this());
    assert!(tally.figures().is_none());
    let mut calls = 0;
    loop {
        let began = Instant::now();
        sleep(Duration::from_millis(2));
        if !tally.add(began) {
            break;
        }
        calls += 1;
    }
    let figures = tally.figures().unwrap();
    // Those before it opened, and the one that opened it, are left out.
    let counted = figures.per_s * 0.06;
    assert!(
        counted >= 0.9 && counted < f64::from(calls),
        "{counted} of {calls}"
    );
    assert!(figures.p50_us >= 1_990.0 && figures.p50_us <= figures.p999_us);
    assert!(figures.client_us > 0.0);
}
