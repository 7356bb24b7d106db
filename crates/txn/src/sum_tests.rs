use super::*;

#[test]
fn a_number_is_added_to_the_number_that_is_there() {
    let of = |value: &'static str| sum(Some(&Bytes::from_static(value.as_bytes())), -3).ok();
    assert_eq!(sum(None, -3), Ok(-3));
    let cases = [
        ("0", Some(-3)),
        ("41", Some(38)),
        ("+41", Some(38)),
        ("-9223372036854775805", Some(i64::MIN)),
        ("-9223372036854775806", None),
        ("", None),
        (" 1", None),
        ("1.5", None),
        ("1000000000000000000000000", None),
    ];
    for (value, expected) in cases {
        assert_eq!(of(value), expected, "{value}");
    }
}
