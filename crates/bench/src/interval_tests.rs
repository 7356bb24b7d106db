#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

fn near(got: f64, wanted: f64, tolerance: f64) {
    assert!(
        (got - wanted).abs() < tolerance,
        "{got} instead of {wanted}"
    );
}

#[test]
fn quantiles_are_those_of_the_tables() {
    for (degrees, wanted) in [
        (1, 12.706),
        (2, 4.303),
        (4, 2.776),
        (9, 2.262),
        (30, 2.042),
        (31, 2.0395),
        (40, 2.0211),
        (60, 2.0003),
        (120, 1.9799),
        (1_000_000, 1.959_97),
    ] {
        near(t_975(degrees), wanted, 2e-4);
    }
}

#[test]
fn the_sleep_data_of_student_himself() {
    // Extra hours of sleep by two drugs in ten patients: mean 1.58, 95 % from 0.70 to 2.46.
    let one = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
    let two = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
    let interval = Interval::of_differences(&two, &one);
    near(interval.mean, 1.58, 1e-9);
    near(interval.ci95.unwrap(), 0.8799, 2e-4);
    near(interval.median, 1.3, 1e-9);
    assert_eq!(interval.count, 10);
    assert!(interval.is_significant());
}

#[test]
fn few_numbers_and_none() {
    let none = Interval::of(&[]);
    assert_eq!((none.mean, none.ci95, none.count), (0.0, None, 0));
    let one = Interval::of(&[3.0]);
    assert_eq!((one.mean, one.ci95, one.median), (3.0, None, 3.0));
    assert!(!one.is_significant());
    let same = Interval::of(&[2.0, 2.0]);
    assert_eq!(same.ci95, Some(0.0));
    let around_zero = Interval::of(&[-1.0, 1.0]);
    near(around_zero.ci95.unwrap(), 12.706, 1e-9);
    assert!(!around_zero.is_significant());
}

#[test]
fn ratios_leave_out_what_cannot_be_divided_by() {
    let ratios = Interval::of_ratios(&[3.0, 5.0, 1.0], &[2.0, 2.0, 0.0]);
    assert_eq!((ratios.mean, ratios.count), (2.0, 2));
}
