#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::import::input::Input;
use proptest::prelude::*;

const LIMIT: usize = 16 << 20;

fn open(input: &[u8], limit: usize) -> Result<Vec<Item>, HeaderError> {
    let input = Input::new(io::Cursor::new(input.to_vec()), None).unwrap();
    let mut records = Csv::open(input.reader, "id", limit)?;
    Ok(std::iter::from_fn(|| records.next().unwrap()).collect())
}

fn items(input: &[u8]) -> Vec<Item> {
    open(input, LIMIT).unwrap()
}

fn good(line: u64, key: &str, value: &str) -> Item {
    Item::Record(Record {
        line,
        key: key.as_bytes().to_vec(),
        value: value.as_bytes().to_vec(),
        expires_at_ms: None,
    })
}

#[test]
fn rows_become_objects_in_the_headers_order() {
    let input = "\u{feff}name,id,\"a \"\"note\"\"\"\r\nKnot,1,\r\n\r\n\"Red, \"\"the\"\"\",\"2\",\"two\r\nlines\"\nlast,3,\"\"";
    assert_eq!(
        items(input.as_bytes()),
        [
            good(2, "1", r#"{"name":"Knot","id":"1","a \"note\"":""}"#),
            good(
                4,
                "2",
                r#"{"name":"Red, \"the\"","id":"2","a \"note\"":"two\r\nlines"}"#
            ),
            good(6, "3", r#"{"name":"last","id":"3","a \"note\"":""}"#),
        ]
    );
}

#[test]
fn each_fault_is_named_and_the_next_row_is_read() {
    for (row, lines, words) in [
        (&b"a"[..], 1, "1 field, the header has 2"),
        (b"a,b,c", 1, "3 fields, the header has 2"),
        (b",x", 1, "\"id\" is empty"),
        (b"\"a\"b,c", 1, "behind a closing quote"),
        (b"\"a\nb\"x,\"c", 2, "behind a closing quote"),
        (b"a,\xff", 1, "field \"x\" is not UTF-8"),
    ] {
        let input = [b"id,x\n", row, b"\n7,y\n"].concat();
        let items = items(&input);
        assert_eq!(items.len(), 2, "{items:?}");
        assert!(
            matches!(&items[0], Item::Malformed(m) if m.line == 2 && m.reason.contains(words)),
            "{items:?}"
        );
        assert_eq!(items[1], good(2 + lines, "7", r#"{"id":"7","x":"y"}"#));
    }
}

#[test]
fn a_quote_that_is_never_closed_is_one_bad_record_and_little_memory() {
    let items = open(
        format!("id,x\n1,2\n3,\"{}", "4,5\n".repeat(1000)).as_bytes(),
        100,
    )
    .unwrap();
    assert_eq!(items.len(), 2);
    assert_eq!(items[1], Item::malformed(3, "longer than 100 bytes"));
    let items = self::items(b"id,x\n3,\"4\n5");
    assert_eq!(
        items,
        [Item::malformed(
            2,
            "a quote is not closed before the file ends"
        )]
    );
}

#[test]
fn a_long_row_is_a_record_until_the_limit_says_no() {
    let big = "y".repeat(10 << 20);
    let input = format!("id,x\n1,{big}\n2,z\n");
    assert_eq!(
        items(input.as_bytes())[0],
        good(2, "1", &format!(r#"{{"id":"1","x":"{big}"}}"#))
    );
    let items = open(input.as_bytes(), 1000).unwrap();
    assert_eq!(
        items,
        [
            Item::malformed(2, "longer than 1000 bytes"),
            good(3, "2", r#"{"id":"2","x":"z"}"#)
        ]
    );
}

#[test]
fn a_header_that_cannot_serve_is_refused() {
    for (input, words) in [
        (&b""[..], "empty"),
        (b"\n\n", "empty"),
        (b"name,x\n1,2", "no column \"id\"; the columns are name, x"),
        (b"id,x,id\n", "column \"id\" twice"),
        (b"id,\xff\n", "UTF-8"),
        (b"id,\"x\n", "not closed"),
    ] {
        let error = open(input, LIMIT).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn one_column_tells_an_empty_line_from_an_empty_field() {
    assert_eq!(
        items(b"id\n\n\"\"\nx\n"),
        [
            Item::malformed(3, "field \"id\" is empty"),
            good(4, "x", r#"{"id":"x"}"#)
        ]
    );
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(input in proptest::collection::vec(prop_oneof![Just(b'"'), Just(b','), Just(b'\n'), Just(b'\r'), any::<u8>()], 0..300)) {
        let all = [b"id,x\n", &input[..]].concat();
        let feeds = input.iter().filter(|b| **b == b'\n').count();
        prop_assert!(open(&all, 60).unwrap().len() <= feeds + 1);
    }

    /// Another implementation's writer is the judge of what a field means.
    #[test]
    fn what_a_csv_writer_writes_is_read(rows in proptest::collection::vec((".+", "(?s).*"), 0..20), crlf: bool) {
        let terminator = if crlf { ::csv::Terminator::CRLF } else { ::csv::Terminator::Any(b'\n') };
        let mut writer = ::csv::WriterBuilder::new().terminator(terminator).from_writer(Vec::new());
        writer.write_record(["x", "id"]).unwrap();
        for (key, text) in &rows {
            writer.write_record([text, key]).unwrap();
        }
        let items = items(&writer.into_inner().unwrap());
        prop_assert_eq!(items.len(), rows.len());
        for (item, (key, text)) in items.iter().zip(&rows) {
            let Item::Record(record) = item else { panic!("{item:?}") };
            prop_assert_eq!(&record.key, key.as_bytes());
            let value: serde_json::Value = serde_json::from_slice(&record.value).unwrap();
            prop_assert_eq!(&value["x"], text);
            prop_assert_eq!(&value["id"], key);
        }
    }
}
