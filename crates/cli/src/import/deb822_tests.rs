#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::import::input::Input;
use proptest::prelude::*;

const LIMIT: usize = 16 << 20;

fn items(input: &[u8], limit: usize) -> Vec<Item> {
    let input = Input::new(io::Cursor::new(input.to_vec()), None).unwrap();
    let mut records = Deb822::new(input.reader, "package", limit);
    std::iter::from_fn(|| records.next().unwrap()).collect()
}

fn good(line: u64, key: &str, value: &[u8]) -> Item {
    Item::Record(Record {
        line,
        key: key.as_bytes().to_vec(),
        value: value.to_vec(),
        expires_at_ms: None,
    })
}

#[test]
fn stanzas_keep_their_text_with_folded_fields() {
    let input = b"\xef\xbb\xbfPackage: a\nDescription: one\n two\n .\n\tthree: not a field\n\n\n# a note\n\nVersion:1\nPACKAGE:  b \n# inside\n";
    assert_eq!(
        items(input, LIMIT),
        [
            good(
                1,
                "a",
                b"Package: a\nDescription: one\n two\n .\n\tthree: not a field"
            ),
            good(10, "b", b"Version:1\nPACKAGE:  b \n# inside"),
        ]
    );
}

#[test]
fn windows_line_ends_and_blank_lines_of_spaces_part_stanzas() {
    assert_eq!(
        items(
            b"Package: a\r\nX: 1\r\n\r\nPackage: b\n \t\nPackage: c",
            LIMIT
        ),
        [
            good(1, "a", b"Package: a\nX: 1"),
            good(4, "b", b"Package: b"),
            good(6, "c", b"Package: c")
        ]
    );
}

#[test]
fn each_fault_names_the_stanza_and_spares_the_next() {
    for (stanza, words) in [
        ("Version: 1\nX: 2", "no field \"package\""),
        ("Package:\nX: 2", "is empty"),
        ("Package: a\n b\nX: 2", "spans several lines"),
        (" folded\nPackage: a", "continuation"),
        ("Package: a\nno colon here\nX: 1", "line 2 is no field"),
        ("Package: a\n: nameless", "line 2 is no field"),
        ("Package: a\nPackage: b", "twice"),
        ("Na me: a\nPackage: b", "plain ASCII"),
    ] {
        let items = items(format!("{stanza}\n\nPackage: next\n").as_bytes(), LIMIT);
        assert_eq!(items.len(), 2, "{stanza:?} gave {items:?}");
        assert!(
            matches!(&items[0], Item::Malformed(m) if m.line == 1 && m.reason.contains(words)),
            "{items:?}"
        );
        assert!(
            matches!(&items[1], Item::Record(r) if r.key == b"next"),
            "{items:?}"
        );
    }
}

#[test]
fn values_need_not_be_text() {
    assert_eq!(
        items(b"Package: a\nMaintainer: J\xf6rg", LIMIT),
        [good(1, "a", b"Package: a\nMaintainer: J\xf6rg")]
    );
}

#[test]
fn a_stanza_above_the_limit_is_passed_over_whole() {
    let input = format!(
        "Package: a\nX: {}\nY: 1\n\nPackage: b\nX:\n{}\nPackage: c",
        "y".repeat(100),
        " z\n".repeat(50)
    );
    let items = items(input.as_bytes(), 60);
    assert_eq!(items[0], Item::malformed(1, "longer than 60 bytes"));
    assert_eq!(items[1], Item::malformed(5, "longer than 60 bytes"));
    assert_eq!(items[2], good(58, "c", b"Package: c"));
    let long = format!("Package: big\nX: {}\n", "y".repeat(10 << 20));
    assert_eq!(
        self::items(long.as_bytes(), LIMIT),
        [good(1, "big", long.trim_end().as_bytes())]
    );
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(input in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b':'), Just(b' '), any::<u8>()], 0..300)) {
        for item in items(&input, 40) {
            if let Item::Record(record) = item {
                prop_assert!(!record.key.is_empty() && record.value.len() <= 40);
            }
        }
    }

    #[test]
    fn written_stanzas_are_read(values in proptest::collection::vec(("[a-z0-9+.-]{1,20}", "[ -~]{0,60}", "[!-~]{1,20}"), 0..20)) {
        let stanzas: Vec<String> = values.iter()
            .map(|(key, text, folded)| format!("Section: {text}\nPackage: {key}\nDescription: {text}\n {folded}")).collect();
        let expected: Vec<Item> = values.iter().zip(&stanzas).enumerate()
            .map(|(i, ((key, ..), stanza))| good(1 + 5 * i as u64, key, stanza.as_bytes())).collect();
        prop_assert_eq!(items(stanzas.join("\n\n").as_bytes(), LIMIT), expected);
    }
}
