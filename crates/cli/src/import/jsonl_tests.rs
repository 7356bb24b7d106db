#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::import::input::Input;
use crate::import::record::Malformed;
use proptest::prelude::*;

const LIMIT: usize = 16 << 20;

fn items(input: &[u8], limit: usize) -> Vec<Item> {
    let input = Input::new(io::Cursor::new(input.to_vec()), None).unwrap();
    let mut records = Jsonl::new(input.reader, "id", limit);
    std::iter::from_fn(|| records.next().unwrap()).collect()
}

fn good(line: u64, key: &[u8], value: &[u8]) -> Item {
    Item::Record(Record {
        line,
        key: key.to_vec(),
        value: value.to_vec(),
        expires_at_ms: None,
    })
}

fn reason(line: &[u8]) -> String {
    match items(line, LIMIT).remove(0) {
        Item::Malformed(Malformed { line: 1, reason }) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_line_itself_is_stored() {
    let input = b"\xef\xbb\xbf{\"id\":\"a\",  \"x\":1}\r\n\n  \n{\"x\":{\"id\":0},\"id\":42}\n{\"id\":\"\\u00e9\"}";
    assert_eq!(
        items(input, LIMIT),
        [
            good(1, b"a", b"{\"id\":\"a\",  \"x\":1}"),
            good(4, b"42", b"{\"x\":{\"id\":0},\"id\":42}"),
            good(5, "é".as_bytes(), b"{\"id\":\"\\u00e9\"}"),
        ]
    );
}

#[test]
fn each_fault_is_named_and_the_next_line_is_read() {
    assert!(reason(b"{\"x\":1}").starts_with("no field \"id\""));
    assert!(reason(b"{\"id\":\"\"}").contains("is empty"));
    assert!(reason(b"{\"id\":null}").contains("no string or whole number"));
    assert!(reason(b"{\"id\":1.5}").contains("no string or whole number"));
    assert!(reason(b"{\"id\":1,\"id\":2}").contains("twice"));
    assert!(reason(b"{\"id\":1").contains("no JSON object"));
    assert!(reason(b"{\"id\":1} x").contains("no JSON object"));
    assert!(reason(b"[1]").contains("an object"));
    assert!(
        reason(b"{\"id\":1,\"x\":\"\xff\"}").contains("UTF-8")
            || !reason(b"{\"id\":1,\"x\":\"\xff\"}").is_empty()
    );
    for line in [
        &b"{"[..],
        b"[1]",
        b"{\"x\":1}",
        b"\xff\xfe",
        b"{\"id\":1,\"x\":\"\xff\"}",
    ] {
        let text = reason(line);
        assert!(!text.contains('\n') && !text.contains("line 1"), "{text}");
        let mut two = line.to_vec();
        two.extend_from_slice(b"\n{\"id\":7}\n");
        assert_eq!(items(&two, LIMIT)[1], good(2, b"7", b"{\"id\":7}"));
    }
}

#[test]
fn ten_megabytes_in_a_line_are_a_record_until_the_limit_says_no() {
    let line = format!("{{\"id\":\"big\",\"x\":\"{}\"}}", "y".repeat(10 << 20));
    let input = format!("{line}\n{{\"id\":2}}\n");
    assert_eq!(
        items(input.as_bytes(), LIMIT)[0],
        good(1, b"big", line.as_bytes())
    );
    let small = items(input.as_bytes(), 1 << 20);
    assert_eq!(small[0], Item::malformed(1, "longer than 1048576 bytes"));
    assert_eq!(small[1], good(2, b"2", b"{\"id\":2}"));
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(input in proptest::collection::vec(any::<u8>(), 0..300)) {
        let lines = input.split(|b| *b == b'\n').count();
        prop_assert!(items(&input, 50).len() <= lines);
    }

    #[test]
    fn what_a_json_writer_writes_is_read(keys in proptest::collection::vec(".+", 0..20), extra in ".*") {
        let lines: Vec<String> = keys.iter().map(|k| serde_json::json!({"a": extra, "id": k}).to_string()).collect();
        let expected: Vec<Item> = keys.iter().zip(&lines).zip(1..)
            .map(|((key, line), number)| good(number, key.as_bytes(), line.as_bytes())).collect();
        prop_assert_eq!(items(lines.join("\r\n").as_bytes(), LIMIT), expected);
    }
}
