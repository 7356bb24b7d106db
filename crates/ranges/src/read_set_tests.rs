#![allow(clippy::unwrap_used)]
use std::sync::Arc;

use dunlin_metadata::{KeyspaceSettings, RangeRecord};

use super::*;

fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn place(key: &str) -> Place {
    Place {
        keyspace: "bank".into(),
        key: bytes(key),
    }
}

/// A keyspace of the ranges up to `d`, up to `m`, and from there.
fn bank() -> Keyspaces {
    let mut keyspace = Keyspace::new(1, "bank", KeyspaceSettings::default());
    let record = |(number, start): (u16, &str)| RangeRecord {
        number,
        start: start.to_owned(),
        config: 1,
        replicas: Vec::new(),
        target: Vec::new(),
        planned: 0,
        followed: 0,
        ready: true,
        recovered: None,
    };
    keyspace.ranges = [(0, ""), (1, "d"), (2, "m")].map(record).into();
    [("bank".to_owned(), Arc::new(keyspace))].into()
}

fn span(start: &str, end: Option<&str>) -> Span {
    (bytes(start), end.map(bytes))
}

fn reads(index: usize, spans: &[Span]) -> Reads {
    Reads {
        range: range_id(1, index),
        spans: spans.to_vec(),
    }
}

#[test]
fn keys_in_written_ranges_become_checks_and_all_else_is_read_again() {
    let mut set = ReadSet::default();
    for key in ["a", "b", "c", "z"] {
        set.add_key(&place(key), 9);
    }
    set.found(&place("a"), Some(Version(5)));
    set.found(&place("b"), None);
    set.found(&place("z"), Some(Version(7)));
    let mut shares = [Share {
        range: range_id(1, 0),
        ..Share::default()
    }];
    let apart = set.share_out(&bank(), &mut shares).unwrap();
    let check = |key: &str, condition| Check {
        key: bytes(key),
        condition,
    };
    let is = Condition::Is(Stamp::new(Version(5), ORIGIN));
    let checks = [check("a", is), check("b", Condition::Absent)];
    assert_eq!(shares[0].checks, checks);
    // `c` is being read; the range of `z` is not written.
    let expected = [
        reads(0, &[span("c", Some("c\0"))]),
        reads(2, &[span("z", Some("z\0"))]),
    ];
    assert_eq!(apart, expected);
}

#[test]
fn scans_are_cut_at_the_ends_of_ranges_and_end_where_they_have_read() {
    let all = |start: &str, end: Option<&str>| {
        let mut set = ReadSet::default();
        set.add_scan("bank", span(start, end), 9);
        set.share_out(&bank(), &mut []).unwrap()
    };
    let expected = [
        reads(0, &[span("c", Some("d"))]),
        reads(1, &[span("d", Some("m"))]),
        reads(2, &[span("m", None)]),
    ];
    assert_eq!(all("c", None), expected);
    assert_eq!(all("e", Some("m")), [reads(1, &[span("e", Some("m"))])]);
    assert_eq!(all("e", Some("e")), []);
    let mut set = ReadSet::default();
    let (number, _) = set.add_scan("bank", span("a", None), 9);
    set.scanned(number, bytes("c"));
    let short = set.share_out(&bank(), &mut []).unwrap();
    assert_eq!(short, [reads(0, &[span("a", Some("c"))])]);
}

#[test]
fn too_many_are_not_remembered() {
    let mut set = ReadSet::default();
    assert!(set.add_key(&place("a"), 2) > EACH);
    assert_eq!(set.add_key(&place("a"), 2), 0);
    set.add_scan("bank", span("", None), 2);
    assert!(set.is_whole());
    assert_eq!(set.add_key(&place("b"), 2), 0);
    assert!(!set.is_whole());
    assert_eq!(set.len(), 0);
    set.found(&place("a"), None);
    assert_eq!(set.add_scan("bank", span("", None), 2).1, 0);
}
