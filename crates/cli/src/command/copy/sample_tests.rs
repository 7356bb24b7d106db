#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

fn samples(rates: &[f64]) -> Vec<Sample> {
    let sample = |bytes_per_s: &f64| Sample {
        step: Step::Sending,
        at_s: 0.0,
        bytes_per_s: *bytes_per_s,
        pairs_per_s: 0.0,
        wire_bytes_per_s: 0.0,
    };
    rates.iter().map(sample).collect()
}

#[test]
fn the_coefficient_of_variation_is_the_usual_one() {
    assert_eq!(
        coefficient_of_variation(&samples(&[5.0, 5.0, 5.0]), Step::Sending),
        Some(0.0)
    );
    let cv = coefficient_of_variation(
        &samples(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]),
        Step::Sending,
    );
    assert!((cv.unwrap() - 2.138_089_935 / 5.0).abs() < 1e-6);
    for few in [&[][..], &[3.0], &[0.0, 0.0]] {
        assert_eq!(coefficient_of_variation(&samples(few), Step::Sending), None);
    }
}

#[test]
fn the_steps_are_not_mixed() {
    let mut both = samples(&[5.0, 5.0]);
    both.extend(samples(&[50.0, 70.0]).into_iter().map(|sample| Sample {
        step: Step::Comparing,
        ..sample
    }));
    assert_eq!(coefficient_of_variation(&both, Step::Sending), Some(0.0));
    let cv = coefficient_of_variation(&both, Step::Comparing);
    assert!((cv.unwrap() - 200f64.sqrt() / 60.0).abs() < 1e-9);
    let mut samples = Samples::start();
    samples.taken = both;
    assert_eq!(samples.bytes_per_s_now(), 5.0);
    samples.step = Step::Comparing;
    assert_eq!(samples.bytes_per_s_now(), 60.0);
}
