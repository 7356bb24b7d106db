#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;
use crate::row::place_of;

/// What rows with these values are reduced to, each a part that another shard sends; keys are 0, 1, 2 ...
fn reduced(reduce: Reduce, values: &[&str]) -> Result<String, Unfit> {
    let mut all = Aggregate::default();
    for (n, value) in values.iter().enumerate() {
        let place = place_of(&encode(&n.to_string()).unwrap(), b"id", 0);
        let mut bytes = Vec::new();
        Aggregate::of_row(reduce, &place, value)?.encode(reduce, &mut bytes);
        let mut rest = &bytes[..];
        all.merge(reduce, &Aggregate::decode(reduce, &mut rest).unwrap())?;
        assert!(rest.is_empty());
    }
    all.to_json(reduce)
}

#[test]
fn values_are_reduced() {
    let stats = |sum, count, min, max, sumsqr| json!({"sum": sum, "count": count, "min": min, "max": max, "sumsqr": sumsqr});
    for (reduce, values, expected) in [
        ("_count", &["1", "null"][..], json!(2)),
        (" _sum\n", &["1", "2.5", "-4"], json!(-0.5)),
        ("_sum", &["[1,2]", "[3]"], json!([4, 2])),
        ("_sum", &["[1,2]", "3"], json!([4, 2])),
        ("_sum", &["{\"a\":1}", "{\"b\":2}"], json!({"a": 1, "b": 2})),
        (
            "_stats",
            &["1", "2.5", "-4"],
            stats(-0.5, 3, -4.0, 2.5, 23.25),
        ),
        (
            "_stats",
            &[
                "1",
                "{\"sum\":5,\"count\":2,\"min\":2,\"max\":3,\"sumsqr\":13}",
            ],
            stats(6.0, 3, 1.0, 3.0, 14.0),
        ),
        ("_first", &["\"x\"", "2", "[3]"], json!("x")),
        ("_last", &["\"x\"", "2", "[3]"], json!([3])),
        ("_top_2", &["1", "\"b\"", "7", "\"a\""], json!(["b", "a"])),
        (
            "_bottom_3",
            &["1", "\"b\"", "7", "null"],
            json!([null, 1, 7]),
        ),
        ("_approx_count_distinct", &["1", "1", "1"], json!(3)),
    ] {
        let kind = Reduce::of(reduce).unwrap();
        let value: Value = serde_json::from_str(&reduced(kind, values).unwrap()).unwrap();
        let same = value.to_string().replace(".0", "") == expected.to_string().replace(".0", "");
        assert!(same, "{reduce}: {value} is not {expected}");
    }
    let arrays = reduced(Reduce::Stats, &["[1,2]", "[3,4]"]).unwrap();
    let arrays: Value = serde_json::from_str(&arrays).unwrap();
    assert_eq!([&arrays[0]["sum"], &arrays[1]["max"]], [4, 4]);
    let large = f64::MAX.to_string();
    assert_eq!(reduced(Reduce::Sum, &[&large, &large]).unwrap(), "null");
}

#[test]
fn what_does_not_fit_is_named() {
    for (reduce, values) in [
        (Reduce::Sum, &["1", "\"two\""][..]),
        (Reduce::Sum, &["1", "{\"a\":2}"]),
        (Reduce::Sum, &["[null]"]),
        (Reduce::Stats, &["null"]),
        (Reduce::Stats, &["1", "[1]"]),
        (Reduce::Stats, &["[1]", "[1,2]"]),
    ] {
        assert!(reduced(reduce, values).is_err(), "{values:?}");
    }
    let unfit = reduced(Reduce::Sum, &["\"two\""]).unwrap_err().to_string();
    assert!(unfit.ends_with("not \"two\""), "{unfit}");
    for name in ["_median", "_top_0", "_top_101", "_top_", "_bottom_x"] {
        assert!(Reduce::of(name).is_err(), "{name}");
    }
}

#[test]
fn what_is_kept_forgets_what_is_taken_away() {
    let mut all = Aggregate::default();
    for value in ["0.1", "0.7", "\"text\"", "[1]"] {
        all.add(Reduce::Sum, counts_for(Some(Reduce::Sum), value));
    }
    for value in ["0.1", "[1]", "\"text\""] {
        all.subtract(Reduce::Sum, counts_for(Some(Reduce::Sum), value));
    }
    let mut rest = Aggregate::default();
    rest.add(Reduce::Sum, 0.7);
    assert_eq!(all, rest);
}

#[test]
fn what_a_function_made_of_parts_is_kept_apart() {
    assert_eq!(Reduce::of("function () {}"), Ok(Reduce::Custom));
    let mut all = Aggregate::default();
    for part in ["1", "{\"a\":2}"] {
        let mut other = Aggregate::of_row(Reduce::Custom, b"", "null").unwrap();
        other.parts.push(part.into());
        all.merge(Reduce::Custom, &other).unwrap();
    }
    let mut bytes = Vec::new();
    all.encode(Reduce::Custom, &mut bytes);
    let read = Aggregate::decode(Reduce::Custom, &mut &bytes[..]);
    assert_eq!(read, Some(all.clone()));
    assert_eq!(
        (all.count, all.to_json(Reduce::Custom)),
        (2, Ok("1".to_owned()))
    );
}

#[test]
fn many_distinct_keys_are_counted_approximately() {
    let mut all = Aggregate::default();
    for n in 0..20_000 {
        let key = encode(&(n % 10_000).to_string()).unwrap();
        let one = Aggregate::of_row(Reduce::Distinct, &place_of(&key, b"id", 0), "1").unwrap();
        all.merge(Reduce::Distinct, &one).unwrap();
    }
    let count: f64 = all.to_json(Reduce::Distinct).unwrap().parse().unwrap();
    assert!((count / 10_000.0 - 1.0).abs() < 0.05, "{count}");
}
