#![allow(clippy::unwrap_used)]
use super::*;

fn of(bounds: [Option<u64>; 4]) -> Retention {
    let [min_bytes, min_age_s, max_bytes, max_age_s] = bounds;
    Retention {
        min_bytes,
        min_age_s,
        max_bytes,
        max_age_s,
    }
}

#[test]
fn bounds_are_checked() {
    // Least bytes and age, greatest bytes and age, whether that is taken.
    let cases = [
        ([None, None, None, None], true),
        ([Some(0), Some(0), Some(0), Some(0)], true),
        ([Some(5), None, Some(5), None], true),
        ([Some(6), None, Some(5), None], false),
        ([None, Some(6), None, Some(5)], false),
        ([Some(6), None, None, Some(5)], true),
        ([None, Some(AGE_S_MAX), None, None], true),
        ([None, Some(AGE_S_MAX + 1), None, None], false),
        ([None, None, None, Some(AGE_S_MAX + 1)], false),
        ([Some(u64::MAX), None, None, None], true),
    ];
    for (bounds, is_taken) in cases {
        assert_eq!(of(bounds).check().is_ok(), is_taken, "{bounds:?}");
    }
}

#[test]
fn what_sets_no_bound_is_not_written_and_what_is_not_known_is_refused() {
    let text = serde_json::to_string(&of([Some(7), None, None, Some(8)])).unwrap();
    assert_eq!(text, r#"{"min_bytes":7,"max_age_s":8}"#);
    assert!(serde_json::from_str::<Retention>(r#"{"min_bites":7}"#).is_err());
}
