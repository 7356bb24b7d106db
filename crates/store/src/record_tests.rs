#![allow(clippy::unwrap_used, clippy::expect_used)]
use dunlin_entry::{Origin, Version};
use proptest::prelude::*;

use super::*;

fn entry(kind: Kind, expiry_ms: Option<u64>, value: &[u8]) -> Entry {
    Entry {
        kind,
        copy: false,
        from: 3,
        partition: 0,
        keyspace: 0,
        stamp: Stamp::new(Version(0x0102), Origin(0x0304)),
        logged: None,
        expiry_ms,
        is_expiry: false,
        replaces: None,
        key: Bytes::from_static(b"k"),
        value: Bytes::copy_from_slice(value),
    }
}

proptest! {
    #[test]
    fn a_put_round_trips(
        version: u64,
        from: u8,
        origin: u64,
        expiry_ms: Option<u64>,
        replaced: Option<(u64, u64, bool)>,
        logged: Option<(u64, u64)>,
        value in prop::collection::vec(any::<u8>(), 0..50),
    ) {
        let mut entry = entry(Kind::Put, expiry_ms, &value);
        entry.stamp = Stamp::new(Version(version), Origin(origin));
        entry.from = from;
        let replaces = replaced.map(|(version, origin, is_mend)| Replaces {
            stamp: Stamp::new(Version(version), Origin(origin)),
            is_mend,
        });
        entry.replaces = replaces;
        let logged = logged.map(|(origin, sequence)| {
            Box::new(Position::new(Origin(origin), Version(sequence)))
        });
        entry.logged.clone_from(&logged);
        let mut bytes = Vec::new();
        Record::encode(&mut bytes, &entry);
        let versioned = Record::decode(&bytes).unwrap().to_versioned();
        prop_assert_eq!(versioned, Versioned {
            stamp: entry.stamp,
            from: entry.from,
            tombstone: false,
            expiry_ms,
            is_expiry: false,
            replaces,
            logged,
            value: value.into(),
        });
        let ends = Record::position_at(&bytes).map(|(from, to)| (to - from, entry.value == bytes[to..]));
        prop_assert_eq!(ends, entry.logged.as_ref().map(|_| (16, true)));
    }

    #[test]
    fn arbitrary_bytes_never_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let _ = Record::decode(&bytes);
        if let Some(flags) = bytes.first_mut() {
            *flags &= FLAG_EXPIRY | FLAG_TOMBSTONE | FLAG_REPLACES | FLAG_MEND | FLAG_POSITION;
            let flags = *flags;
            let expiry = if flags & FLAG_EXPIRY == 0 { 0 } else { 8 };
            let replaces = if flags & FLAG_REPLACES == 0 { 0 } else { 16 };
            let position = if flags & FLAG_POSITION == 0 { 0 } else { 16 };
            // A mend without what it mends is none.
            let is_sense = flags & FLAG_MEND == 0 || replaces > 0;
            let is_whole = bytes.len() >= 18 + expiry + replaces + position;
            prop_assert_eq!(Record::decode(&bytes).is_ok(), is_sense && is_whole);
        }
    }
}

#[test]
fn the_bytes_are_the_documented_ones() {
    let mut bytes = Vec::new();
    Record::encode(&mut bytes, &entry(Kind::Put, Some(7), b"v"));
    let expected: &[u8] = &[
        1, 3, 2, 1, 0, 0, 0, 0, 0, 0, 4, 3, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, b'v',
    ];
    assert_eq!(bytes, expected);
    let mut mended = entry(Kind::Put, Some(7), b"v");
    mended.replaces = Some(Replaces {
        stamp: Stamp::new(Version(5), Origin(6)),
        is_mend: true,
    });
    Record::encode(&mut bytes, &mended);
    assert_eq!(bytes[0], 1 | 4 | 8);
    assert_eq!(
        bytes[26..],
        [5, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, b'v']
    );
}

#[test]
fn a_tombstone_keeps_no_value() {
    let mut bytes = Vec::new();
    Record::encode(&mut bytes, &entry(Kind::Delete, Some(7), b"left over"));
    assert_eq!(bytes.len(), HEADER_BYTES);
    assert!(Record::decode(&bytes).unwrap().tombstone);
}

#[test]
fn visibility_ends_at_the_expiry() {
    let mut bytes = Vec::new();
    Record::encode(&mut bytes, &entry(Kind::Put, Some(7), b"v"));
    let versioned = Record::decode(&bytes).unwrap().to_versioned();
    assert!(versioned.visible(6).is_some());
    assert!(versioned.visible(7).is_none());
    Record::encode(&mut bytes, &entry(Kind::Delete, None, b""));
    let versioned = Record::decode(&bytes).unwrap().to_versioned();
    assert!(versioned.visible(0).is_none());
}
