#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

/// The order that CouchDB documents, each before the next.
const ORDERED: &[&str] = &[
    "null",
    "false",
    "true",
    "-1e300",
    "-2",
    "-1",
    "-0.5",
    "0",
    "1",
    "2",
    "3.0000001",
    "4",
    "1e21",
    "\"\"",
    "\"a\"",
    "\"A\"",
    "\"aa\"",
    "\"b\"",
    "\"B\"",
    "\"ba\"",
    "\"bb\"",
    "\"é\"",
    "\"z\"",
    "[]",
    "[null]",
    "[\"a\"]",
    "[\"b\"]",
    "[\"b\",\"c\"]",
    "[\"b\",\"c\",\"a\"]",
    "[\"b\",\"d\"]",
    "[\"b\",\"d\",\"e\"]",
    "[[]]",
    "[{}]",
    "{}",
    "{\"a\":1}",
    "{\"a\":2}",
    "{\"b\":1}",
    "{\"b\":2}",
    "{\"b\":2,\"a\":1}",
    "{\"b\":2,\"c\":2}",
];

/// As Unicode's root order has the characters of ASCII.
const ASCII: &str = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789aAbBcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRsStTuUvVwWxXyYzZ";

#[test]
fn keys_are_in_the_documented_order() {
    let encoded: Vec<_> = ORDERED.iter().map(|json| encode(json).unwrap()).collect();
    for (n, pair) in encoded.windows(2).enumerate() {
        assert!(
            pair[0] < pair[1],
            "{} before {}",
            ORDERED[n],
            ORDERED[n + 1]
        );
    }
    let of = |c: char| encode_string(&c.to_string());
    let characters: Vec<_> = ASCII.chars().collect();
    for pair in characters.windows(2) {
        assert!(of(pair[0]) < of(pair[1]), "{} before {}", pair[0], pair[1]);
    }
    // What is above all that begins with a text.
    assert!(encode_string("abc\u{fff0}") > encode_string("abczzz"));
    assert!(encode_string("abc\u{fff0}") < encode_string("abd"));
}

#[test]
fn keys_come_back_as_they_were() {
    for json in ORDERED {
        let encoded = encode(json).unwrap();
        assert_eq!(
            decode(&encoded).unwrap(),
            json.replace("1e300", "1e+300").replace("1e21", "1e+21")
        );
        assert_eq!(length(&[&encoded[..], b"more"].concat()), Ok(encoded.len()));
    }
    let odd = "[\"\\u0000\\u0001\\u0002\",{\"\":\"\\u0000\"}]";
    assert_eq!(decode(&encode(odd).unwrap()).unwrap(), odd);
    assert_eq!(encode("-0").unwrap(), encode("0").unwrap());
    assert_eq!(encode("1.0").unwrap(), encode("1").unwrap());
}

#[test]
fn what_is_no_key_is_refused() {
    for json in ["", "[", "{\"a\"}", "1 2", "nul", "\"\\ud800\""] {
        assert!(encode(json).is_err(), "{json}");
    }
    let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert!(encode(&deep(60)).is_ok());
    assert!(encode(&deep(70)).is_err());
    for bytes in [
        &b""[..],
        b"\x50",
        b"\x30\x00",
        b"\x40a",
        b"\x40a\x00b",
        b"\x99",
        b"\x10\x10",
    ] {
        assert_eq!(decode(bytes), Err(MalformedKey), "{bytes:?}");
    }
}

#[test]
fn groups_are_the_first_elements_of_arrays() {
    let group_of = |json, level| decode(&group(&encode(json).unwrap(), level).unwrap()).unwrap();
    assert_eq!(group_of("[1,[2,3],4]", 1), "[1]");
    assert_eq!(group_of("[1,[2,3],4]", 2), "[1,[2,3]]");
    assert_eq!(group_of("[1,[2,3],4]", 9), "[1,[2,3],4]");
    assert_eq!(group_of("[1]", 0), "[]");
    assert_eq!(group_of("\"abc\"", 1), "\"abc\"");
    assert_eq!(group_of("{\"a\":[1,2]}", 1), "{\"a\":[1,2]}");
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        (-1000_i64..1000).prop_map(Into::into),
        any::<f64>()
            .prop_filter("finite", |f| f.is_finite())
            .prop_map(Into::into),
        "\\PC{0,6}".prop_map(Into::into),
        "[a-c\u{0}\u{1}]{0,3}".prop_map(Into::into),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::btree_map("[a-c]{0,2}", inner, 0..3)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_key_comes_back(value in json()) {
        let encoded = encode(&value.to_string()).unwrap();
        let back: serde_json::Value = serde_json::from_str(&decode(&encoded).unwrap()).unwrap();
        prop_assert_eq!(encode(&back.to_string()).unwrap(), encoded.clone());
        prop_assert_eq!(length(&encoded), Ok(encoded.len()));
    }

    #[test]
    fn numbers_compare_as_numbers(a in any::<f64>(), b in any::<f64>()) {
        prop_assume!(a.is_finite() && b.is_finite());
        let of = |n: f64| encode(&serde_json::to_string(&n).unwrap()).unwrap();
        prop_assert_eq!(of(a).cmp(&of(b)), (a + 0.0).partial_cmp(&(b + 0.0)).unwrap());
    }

    #[test]
    fn an_array_is_before_what_goes_on_behind_it(a in json(), b in json()) {
        let of = |v: serde_json::Value| encode(&v.to_string()).unwrap();
        let one = of(vec![a.clone()].into());
        let two = of(vec![a, b].into());
        prop_assert!(one < two);
    }
}
