#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn share_under_two_milliseconds_is_exact_at_the_limit() {
    let mut outcome = Outcome::new().unwrap();
    assert_eq!(outcome.share_under(GOOD_US), 0.0);
    for us in [1, 1_998, 1_999, 2_000, 2_001, 50_000] {
        outcome.record_ns(us * 1_000);
    }
    assert_eq!(outcome.share_under(GOOD_US), 0.5);
    outcome.record_ns(1_999_999);
    assert_eq!(outcome.share_under(GOOD_US), 4.0 / 7.0);
}

#[test]
fn percentiles_keep_three_digits_and_extremes_saturate() {
    let mut outcome = Outcome::new().unwrap();
    (1..=10_000).for_each(|us| outcome.record_ns(us * 1_000));
    for (percentile, exact) in [(50.0, 5_000.0), (99.0, 9_900.0), (99.99, 9_999.0)] {
        let got = outcome.percentile_us(percentile) as f64;
        assert!((got / exact - 1.0).abs() < 0.001, "{percentile}: {got}");
    }
    outcome.record_ns(0);
    outcome.record_ns(u64::MAX);
    assert_eq!(outcome.percentile_us(0.0), 1);
    assert!(outcome.percentile_us(100.0) >= 60_000_000);
}

#[test]
fn every_kind_of_error_is_counted_and_named() {
    let mut outcome = Outcome::new().unwrap();
    outcome.judge(Verdict::Expected);
    assert_eq!((outcome.errors(), outcome.errors_text().as_str()), (0, ""));
    outcome.judge(Verdict::Status(504));
    outcome.judge(Verdict::Status(504));
    outcome.judge(Verdict::WrongBody);
    outcome.broke("reset".into());
    outcome.broke("again".into());
    assert_eq!(outcome.errors(), 5);
    assert_eq!(
        outcome.errors_text(),
        "2 with status 504, 1 with the wrong value, 2 broken (reset)"
    );
}

#[test]
fn rates_and_cost_are_over_the_window() {
    let mut outcome = Outcome::new().unwrap();
    outcome.completed_in_window = 1_000;
    outcome.window = Duration::from_millis(500);
    outcome.generator_cpu = Duration::from_millis(5);
    assert_eq!(outcome.rate_per_s(), 2_000.0);
    assert!((outcome.generator_us_per_request() - 5.0).abs() < 1e-9);
}
