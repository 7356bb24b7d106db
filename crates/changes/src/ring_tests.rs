#![allow(clippy::unwrap_used)]
use bytes::Bytes;
use dunlin_entry::{Entry, Kind, Origin, Stamp, Version};

use super::*;

fn change(version: u64, value_bytes: usize) -> Rc<Change> {
    Change::new(Entry {
        kind: Kind::Put,
        copy: false,
        from: 1,
        partition: 0,
        keyspace: 1,
        stamp: Stamp::new(Version(version), Origin::new(1, 0, 1)),
        logged: None,
        expiry_ms: None,
        is_expiry: false,
        replaces: None,
        key: Bytes::from_static(b"k"),
        value: vec![0; value_bytes].into(),
    })
}

fn token() -> Rc<Token> {
    Rc::new(Token::new(1, 1, None, []))
}

/// Chunks that end with the records 12, 15 and 20; nothing was read between 10 and 12 but these.
fn ring() -> Ring {
    let mut ring = Ring::new(10, token());
    for last in [12, 15, 20] {
        assert!(!ring.push(last, vec![change(last, 10)], token()));
    }
    ring
}

fn is_chunk(ring: &Ring, place: u64, last: Index) -> bool {
    matches!(ring.get(place), Got::Chunk(chunk) if chunk.last == last)
}

#[test]
fn who_has_read_so_far_goes_on_with_the_chunk_that_has_more() {
    let ring = ring();
    // Read up to, and the place.
    let cases = [
        (9, None),
        (10, Some(0)),
        (11, Some(0)),
        (12, Some(1)),
        (14, Some(1)),
        (15, Some(2)),
        (19, Some(2)),
        (20, Some(3)),
        // Further than the tail.
        (99, Some(3)),
    ];
    for (index, place) in cases {
        assert_eq!(ring.find(index), place, "{index}");
    }
    assert!(is_chunk(&ring, 1, 15));
    assert!(matches!(ring.get(3), Got::End(_)));
}

#[test]
fn what_is_read_without_changes_takes_no_place() {
    let mut ring = ring();
    let before = token();
    assert!(!ring.push(30, Vec::new(), before.clone()));
    assert_eq!(ring.end(), 3);
    assert!(matches!(ring.get(3), Got::End(token) if Rc::ptr_eq(&token, &before)));
    ring.push(40, vec![change(40, 1)], token());
    assert_eq!(ring.find(20), Some(3));
    assert_eq!(ring.find(30), Some(3));
}

#[test]
fn the_oldest_go_when_there_is_too_much() {
    let mut ring = ring();
    let half = RING_BYTES / 2;
    assert!(!ring.push(30, vec![change(30, half)], token()));
    assert!(ring.push(31, vec![change(31, half)], token()));
    assert!(matches!(ring.get(2), Got::Lost));
    assert!(ring.is_lost(3) && !ring.is_lost(4));
    assert!(is_chunk(&ring, 4, 31));
    assert_eq!(ring.find(29), None);
    assert_eq!(ring.find(30), Some(4));
    // One is always there.
    assert!(ring.push(32, vec![change(32, 3 * half)], token()));
    assert!(is_chunk(&ring, 5, 32));
    assert_eq!(ring.find(31), Some(5));
}
