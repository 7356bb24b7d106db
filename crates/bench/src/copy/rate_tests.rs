#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

/// A counter that grows by `steps` each tenth of a second, after half a second of nothing.
fn counted(steps: &[u64]) -> Vec<(f64, u64)> {
    let mut points: Vec<(f64, u64)> = (0..=5).map(|at| (f64::from(at) * 0.1, 7_000)).collect();
    let (mut at_s, mut count) = (0.5, 7_000);
    for step in steps {
        (at_s, count) = (at_s + 0.1, count + step);
        points.push((at_s, count));
    }
    // It ends, and takes its time about it.
    points.push((at_s + 2.0, count));
    points
}

#[test]
fn a_steady_copy_does_not_vary_and_neither_start_nor_end_counts() {
    let rates = Rates::of(&counted(&[50; 72]), 720);
    assert_eq!((rates.sample_s, rates.bytes_per_s.len()), (1.0, 7));
    for rate in &rates.bytes_per_s {
        assert!((rate - 100.0).abs() < 1e-6, "{rate}");
    }
    assert!(rates.cv.unwrap() < 1e-6);
}

#[test]
fn a_short_one_is_rated_by_quarters_of_a_second() {
    // 5 tenths at 40 a tenth, 5 at 120: in all 800, of 1600 bytes.
    let rates = Rates::of(
        &counted(&[40, 40, 40, 40, 40, 120, 120, 120, 120, 120]),
        1_600,
    );
    assert_eq!(rates.sample_s, 0.25);
    let rounded: Vec<f64> = rates.bytes_per_s.iter().map(|rate| rate.round()).collect();
    assert_eq!(rounded, [800.0, 800.0, 2400.0, 2400.0]);
    // Of 1, 1, 3, 3 the deviation is 1.1547, the mean 2.
    assert!((rates.cv.unwrap() - 0.577_35).abs() < 1e-4);
    assert_eq!(rates.curve()[3], (1.0, rates.bytes_per_s[3] / 1e6));
}

#[test]
fn of_nothing_there_are_no_rates() {
    for points in [
        &[][..],
        &[(0.0, 5)],
        &[(0.0, 5), (1.0, 5)],
        &[(0.0, 5), (0.1, 9)],
    ] {
        let rates = Rates::of(points, 100);
        assert_eq!(
            (rates.bytes_per_s, rates.cv),
            (Vec::new(), None),
            "{points:?}"
        );
    }
}
