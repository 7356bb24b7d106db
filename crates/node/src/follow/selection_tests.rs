#![allow(clippy::unwrap_used)]

use dunlin_entry::{Position, Stamp, Vector};

use super::*;

const ME: Origin = Origin::new(1, 0, 1);
const OTHER: Origin = Origin::new(2, 0, 1);

fn put(origin: Origin, version: u64, partition: u16, key: &'static str) -> Entry {
    Entry {
        kind: Kind::Put,
        copy: false,
        from: 3,
        partition,
        keyspace: 7,
        stamp: Stamp::new(Version(version), origin),
        logged: None,
        expiry_ms: None,
        is_expiry: false,
        replaces: None,
        key: Bytes::from_static(key.as_bytes()),
        value: Bytes::from_static(b"v"),
    }
}

fn met<W: Fn(u32, u16, u8) -> bool>(selection: &Selection<W>, entry: &Entry) -> &'static str {
    match selection.look(&entry.encode()) {
        Met::Other => "other",
        Met::Passed(_) => "passed",
        Met::Wanted(_) => "wanted",
    }
}

#[test]
fn of_one_origin_only_what_stands_behind_a_place_in_its_log() {
    let selection = Selection::of(ME, Version(5), |_, partition, _| partition == 1);
    assert_eq!(met(&selection, &put(ME, 6, 1, "a")), "wanted");
    assert_eq!(met(&selection, &put(ME, 6, 2, "a")), "passed");
    assert_eq!(met(&selection, &put(ME, 5, 1, "a")), "other");
    assert_eq!(met(&selection, &put(OTHER, 6, 1, "a")), "other");
    let copy = Entry {
        copy: true,
        ..put(ME, 6, 1, "a")
    };
    assert_eq!(met(&selection, &copy), "other");
}

#[test]
fn the_place_counts_and_not_the_stamp() {
    let selection = Selection::of(ME, Version(5), |_, _, _| true);
    let ended = Entry {
        kind: Kind::Delete,
        is_expiry: true,
        expiry_ms: Some(1),
        logged: Some(Box::new(Position::new(ME, Version(9)))),
        value: Bytes::new(),
        ..put(OTHER, 2, 1, "a")
    };
    assert_eq!(met(&selection, &ended), "wanted");
}

#[test]
fn all_changes_are_all_with_copies_and_without_vectors() {
    let selection = Selection {
        prefix: Bytes::from_static(b"user/"),
        ..Selection::all(|keyspace, _, from| keyspace == 7 && from == 3)
    };
    let copy = Entry {
        copy: true,
        ..put(OTHER, 1, 1, "user/1")
    };
    assert_eq!(met(&selection, &copy), "wanted");
    assert_eq!(met(&selection, &put(ME, 1, 1, "order/1")), "passed");
    let elsewhere = Entry {
        keyspace: 8,
        ..put(ME, 1, 1, "user/1")
    };
    assert_eq!(met(&selection, &elsewhere), "passed");
    assert_eq!(met(&selection, &Entry::of_vector(&Vector::new())), "other");
    assert!(matches!(selection.look(b"no entry"), Met::Other));
}

#[test]
fn what_is_kept_of_much_does_not_hold_it() {
    let read = Bytes::from(vec![7; 64 << 10]);
    let mut hits = Hits::default();
    hits.read(&read);
    hits.keep(&read.slice(100..200));
    let kept = hits.into_entries();
    assert_eq!(kept, [read.slice(100..200)]);
    assert_ne!(kept[0].as_ptr(), read.slice(100..200).as_ptr());
}

#[test]
fn what_is_most_of_a_read_is_not_copied() {
    let read = Bytes::from(vec![7; 1 << 10]);
    let mut hits = Hits::with_capacity(1);
    hits.read(&read);
    hits.keep(&read.slice(..512));
    assert_eq!(hits.bytes(), 512);
    assert_eq!(hits.into_entries()[0].as_ptr(), read.as_ptr());
}

#[test]
fn what_was_given_is_no_news_but_for_copies_whose_stamp_says_nothing() {
    let seen: Vector = [(ME, Version(5))].into_iter().collect();
    let copy = |entry: Entry| Entry {
        copy: true,
        ..entry
    };
    let ended = |logged| Entry {
        kind: Kind::Delete,
        is_expiry: true,
        expiry_ms: Some(1),
        logged,
        value: Bytes::new(),
        ..put(OTHER, 2, 1, "a")
    };
    let at = |version| Some(Box::new(Position::new(ME, Version(version))));
    for (what, entry, expected) in [
        ("behind what was seen", put(ME, 6, 1, "a"), true),
        ("the last that was seen", put(ME, 5, 1, "a"), false),
        ("of one not seen", put(OTHER, 1, 1, "a"), true),
        ("a copy of what was seen", copy(put(ME, 4, 1, "a")), false),
        ("a copy of what was not", copy(put(ME, 6, 1, "a")), true),
        ("an end logged later than its stamp", ended(at(6)), true),
        ("an end that was seen", ended(at(5)), false),
        ("a copy of an end", copy(ended(None)), true),
    ] {
        let record = entry.encode();
        let view = EntryView::new(&record).unwrap();
        assert_eq!(is_news(&view, &seen), expected, "{what}");
    }
}

#[test]
fn a_stored_record_is_left_out_where_its_place_is_named() {
    let mut seen = Vector::new();
    seen.advance(ME, Version(6));
    let record = |version| Entry {
        copy: true,
        ..put(ME, version, 1, "a")
    };
    assert!(!is_news_entry(&record(6), &seen));
    assert!(is_news_entry(&record(7), &seen));
    assert!(is_news_entry(&put(OTHER, 1, 1, "a"), &seen));
    // Its place in the log was a later one, which nobody knows here.
    let ended = Entry {
        is_expiry: true,
        ..record(6)
    };
    assert!(is_news_entry(&ended, &seen));
}
