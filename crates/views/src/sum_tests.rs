#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn sum(values: &[f64]) -> Sum {
    let mut sum = Sum::default();
    values.iter().for_each(|value| sum.add(*value));
    sum
}

#[test]
fn sums_are_exact() {
    assert_eq!(sum(&[0.1, 0.2, -0.1, -0.2]), Sum::default());
    assert_eq!(sum(&[1e300, 1.0, -1e300]).value(), 1.0);
    assert_eq!(sum(&[0.1, 0.2]).value(), 0.1 + 0.2);
    assert_eq!(
        sum(&[9_007_199_254_740_992.0, 1.0, 1.0]).value(),
        9_007_199_254_740_994.0
    );
    assert_eq!(sum(&[f64::MAX, f64::MAX]).value(), f64::INFINITY);
    assert_eq!(sum(&[f64::MAX, f64::MAX, -f64::MAX]).value(), f64::MAX);
    assert_eq!(sum(&[5e-324, 5e-324]).value(), 1e-323);
    assert_eq!(sum(&[-2.5]).value(), -2.5);
    assert_eq!(sum(&[]).value(), 0.0);
}

proptest! {
    #[test]
    fn order_does_not_matter(
        values in prop::collection::vec(any::<f64>().prop_filter("finite", |v| v.is_finite()), 0..20),
        others in prop::collection::vec(-1e6_f64..1e6, 0..20),
    ) {
        let all = [&values[..], &others[..]].concat();
        let mut apart = sum(&values);
        apart.add_sum(&sum(&others));
        let backwards: Vec<f64> = all.iter().rev().copied().collect();
        prop_assert_eq!(&sum(&all), &apart);
        prop_assert_eq!(&sum(&backwards), &apart);
        let mut bytes = Vec::new();
        apart.encode(&mut bytes);
        prop_assert_eq!(Sum::decode(&mut &bytes[..]), Some(apart.clone()));
        for value in &values {
            apart.subtract(*value);
        }
        prop_assert_eq!(apart, sum(&others));
    }

    #[test]
    fn whole_numbers_add_up(values in prop::collection::vec(-1_000_000_000_i64..1_000_000_000, 0..50)) {
        let floats: Vec<f64> = values.iter().map(|v| *v as f64).collect();
        prop_assert_eq!(sum(&floats).value(), values.iter().sum::<i64>() as f64);
    }

    #[test]
    fn one_number_is_itself(value in any::<f64>()) {
        prop_assume!(value.is_finite());
        prop_assert_eq!(sum(&[value]).value(), value);
    }
}
