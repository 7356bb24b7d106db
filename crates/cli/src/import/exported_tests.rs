#![allow(clippy::unwrap_used)]
use super::Exported;
use crate::import::record::{Item, Record, Records};

fn items(text: &str) -> Vec<Item> {
    let mut records = Exported::new(text.as_bytes(), 200);
    std::iter::from_fn(|| records.next().unwrap()).collect()
}

fn record(line: u64, key: &[u8], value: &[u8], expires_at_ms: Option<u64>) -> Item {
    Item::Record(Record {
        line,
        key: key.to_vec(),
        value: value.to_vec(),
        expires_at_ms,
    })
}

#[test]
fn lines_of_a_scan_are_records() {
    let text = r#"{"key":"a","value":"1","version":"0197f-1"}

{"key_base64":"/w==","value_base64":"AP8=","version":"2","expires_at_ms":1764144000123}
{"value":"","key":"b"}"#;
    let expected = [
        record(1, b"a", b"1", None),
        record(3, &[0xff], &[0, 0xff], Some(1_764_144_000_123)),
        record(4, b"b", b"", None),
    ];
    assert_eq!(items(text), expected);
}

#[test]
fn what_is_none_says_why() {
    let long = format!(r#"{{"key":"a","value":"{}"}}"#, "x".repeat(200));
    for (line, words) in [
        ("a\t1", "not as scan --json prints it"),
        (r#"{"key":"a"}"#, "neither value nor value_base64"),
        (r#"{"value":"a"}"#, "neither key nor key_base64"),
        (r#"{"key":"","value":"a"}"#, "empty"),
        (r#"{"key":"a","key_base64":"YQ==","value":"a"}"#, "both key"),
        (r#"{"key_base64":"!","value":"a"}"#, "key_base64"),
        (r#"{"key":"a","value":"a","expires_at":5}"#, "expires_at"),
        (r#"{"key":"a","value":"a","expires_at_ms":-1}"#, "-1"),
        (long.as_str(), "longer than 200"),
    ] {
        let items = items(line);
        let [Item::Malformed(malformed)] = &items[..] else {
            panic!("{line}: {items:?}");
        };
        assert!(malformed.reason.contains(words), "{}", malformed.reason);
    }
}
