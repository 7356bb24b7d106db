#![allow(clippy::unwrap_used)]

use super::*;

fn of(reduce: Reduce, values: &[f64]) -> Aggregate {
    let mut all = Aggregate::default();
    values.iter().for_each(|value| all.add(reduce, *value));
    all
}

#[test]
fn values_are_reduced() {
    let values = [1.0, 2.5, -4.0];
    assert_eq!(of(Reduce::Count, &values).to_json(Reduce::Count), "3");
    assert_eq!(of(Reduce::Sum, &values).to_json(Reduce::Sum), "-0.5");
    let stats = of(Reduce::Stats, &values).to_json(Reduce::Stats);
    let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
    let expected = json!({"sum": -0.5, "count": 3, "min": -4, "max": 2.5, "sumsqr": 23.25});
    assert_eq!(stats, expected);
    assert_eq!(
        of(Reduce::Sum, &[f64::MAX, f64::MAX]).to_json(Reduce::Sum),
        "null"
    );
    assert_eq!(
        Reduce::of("_median").unwrap_err().to_string(),
        "reduce \"_median\" is not known: it is _count, _sum, _stats or a function"
    );
}

#[test]
fn parts_add_up_and_come_back_from_bytes() {
    for reduce in [Reduce::Count, Reduce::Sum, Reduce::Stats] {
        let all = of(reduce, &[0.1, 0.2, 3.0, -7.0]);
        let mut merged = Aggregate::default();
        for part in [&[0.1][..], &[], &[0.2, 3.0], &[-7.0]] {
            let mut bytes = Vec::new();
            of(reduce, part).encode(reduce, &mut bytes);
            let mut rest = &bytes[..];
            merged.merge(&Aggregate::decode(reduce, &mut rest).unwrap());
            assert!(rest.is_empty());
        }
        assert_eq!(merged, all);
    }
    let mut sum = of(Reduce::Sum, &[0.1, 0.7]);
    sum.subtract(Reduce::Sum, 0.1);
    assert_eq!(sum, of(Reduce::Sum, &[0.7]));
}

#[test]
fn what_a_function_made_of_parts_is_kept_apart() {
    assert_eq!(Reduce::of("function () {}"), Ok(Reduce::Custom));
    let mut all = Aggregate::default();
    for part in ["1", "{\"a\":2}"] {
        let mut other = Aggregate::default();
        other.add(Reduce::Custom, 0.0);
        other.parts.push(part.into());
        all.merge(&other);
    }
    let mut bytes = Vec::new();
    all.encode(Reduce::Custom, &mut bytes);
    assert_eq!(
        Aggregate::decode(Reduce::Custom, &mut &bytes[..]),
        Some(all.clone())
    );
    assert_eq!(
        (all.count, all.to_json(Reduce::Custom)),
        (2, "1".to_owned())
    );
}
