#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use std::cell::Cell;

#[test]
fn others_are_compared_with_the_first_round_by_round() {
    let calls = Cell::new(0.0);
    let mut setup = Setup::new("name", "question", "ns");
    for cost in [10.0, 13.0] {
        let calls = &calls;
        setup.variant(format!("{cost}"), move || {
            calls.set(calls.get() + 1.0);
            // The machine gets slower all the time.
            Ok(cost + calls.get())
        });
    }
    for variant in setup.variants.iter_mut() {
        for _ in 0..3 {
            variant.costs.push((variant.run)().unwrap());
        }
    }
    let experiment = setup.finish();
    let [first, second] = &experiment.rows[..] else {
        panic!("two variants");
    };
    assert_eq!((first.cost.median, first.difference), (12.0, None));
    let difference = second.difference.unwrap();
    assert_eq!((difference.mean, difference.ci95), (6.0, Some(0.0)));
    assert_eq!(experiment.unit, "ns");
}

#[test]
fn as_many_zeros_as_padding_writes() {
    // A block of 8192 bytes for each record of 5136, of which stock needs 7 more for some.
    let extra = zeros::zeros_a_record();
    assert!((3_040.0..3_060.0).contains(&extra), "{extra}");
}
