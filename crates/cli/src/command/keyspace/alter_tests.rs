#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn bounds_are_read_as_they_are_written() {
    let gib = 1 << 30;
    // Text, bytes and seconds, text again.
    let cases = [
        ("none", None, None, "none"),
        ("1GiB", Some(gib), None, "1GiB"),
        ("1024", Some(1024), None, "1KiB"),
        ("24h", None, Some(86_400), "1d"),
        ("1GiB,1h", Some(gib), Some(3_600), "1GiB,1h"),
        ("90s,1GiB", Some(gib), Some(90), "1GiB,90s"),
        ("0", Some(0), None, "0"),
    ];
    for (text, bytes, age_s, again) in cases {
        let bound: Bound = text.parse().unwrap();
        assert_eq!(bound, Bound { bytes, age_s }, "{text}");
        assert_eq!(bound.to_string(), again);
    }
    for wrong in [
        "",
        "1GiB,2GiB",
        "1h,2h",
        "much",
        "1500ms",
        "1GiB,",
        "1GiB,none",
    ] {
        assert!(wrong.parse::<Bound>().is_err(), "{wrong}");
    }
}

#[test]
fn a_bound_that_is_not_given_stays() {
    let before = Retention {
        min_bytes: Some(1),
        min_age_s: Some(2),
        max_bytes: Some(3),
        max_age_s: None,
    };
    let none = Some(Bound::default());
    assert_eq!(retained(before, None, None), before);
    let after = retained(before, none, None);
    assert_eq!((after.min_bytes, after.min_age_s), (None, None));
    assert_eq!(after.max_bytes, Some(3));
    assert!(retained(before, none, none).is_empty());
    assert_eq!(told(&before), "at least 1,2s, at most 3");
    assert_eq!(told(&Retention::default()), "as needed");
}
