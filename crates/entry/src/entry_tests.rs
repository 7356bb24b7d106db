#![allow(clippy::unwrap_used, clippy::expect_used)]
use proptest::prelude::*;

use super::*;
use crate::{Origin, Version};

prop_compose! {
    fn entries()(
        kind in prop_oneof![Just(Kind::Put), Just(Kind::Delete), Just(Kind::Vector)],
        copy: bool,
        from: u8,
        partition: u16,
        keyspace: u32,
        version: u64,
        origin: u64,
        expiry_ms: Option<u64>,
        replaces: Option<(u64, u64, bool)>,
        logged: Option<(u64, u64)>,
        is_expiry: bool,
        key in prop::collection::vec(any::<u8>(), 0..40),
        value in prop::collection::vec(any::<u8>(), 0..80),
    ) -> Entry {
        Entry {
            kind,
            copy,
            from,
            partition,
            keyspace,
            stamp: Stamp::new(Version(version), Origin(origin)),
            logged: logged.map(|(origin, sequence)| {
                Box::new(Position::new(Origin(origin), Version(sequence)))
            }),
            expiry_ms,
            is_expiry: is_expiry && kind == Kind::Delete && expiry_ms.is_some(),
            replaces: replaces.map(|(version, origin, is_mend)| Replaces {
                stamp: Stamp::new(Version(version), Origin(origin)),
                is_mend,
            }),
            key: key.into(),
            value: if kind == Kind::Delete { Bytes::new() } else { value.into() },
        }
    }
}

proptest! {
    #[test]
    fn round_trips(entry in entries()) {
        let bytes = entry.encode();
        prop_assert_eq!(bytes.len(), entry.encoded_len());
        let view = EntryView::new(&bytes).unwrap();
        prop_assert_eq!(view.kind(), entry.kind);
        prop_assert_eq!(view.copy(), entry.copy);
        prop_assert_eq!(view.from(), entry.from);
        prop_assert_eq!(view.partition(), entry.partition);
        prop_assert_eq!(view.keyspace(), entry.keyspace);
        prop_assert_eq!(view.stamp(), entry.stamp);
        prop_assert_eq!(view.expiry_ms(), entry.expiry_ms);
        prop_assert_eq!(view.replaces(), entry.replaces);
        prop_assert_eq!(view.logged(), entry.logged.as_deref().copied());
        prop_assert_eq!(view.position(), entry.position());
        prop_assert_eq!(view.is_expiry(), entry.is_expiry);
        prop_assert_eq!(view.rank(), entry.rank());
        prop_assert_eq!(view.key(), &entry.key[..]);
        prop_assert_eq!(view.value(), &entry.value[..]);
        prop_assert_eq!(Entry::decode(bytes).unwrap(), entry);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        // A valid first byte or two lets the decoder get further than noise would.
        let mut nearly = bytes.clone();
        if nearly.len() > 1 {
            nearly[0] = nearly[0] % 3 + 1;
            nearly[1] &= 63;
        }
        for bytes in [bytes, nearly] {
            if let Ok(entry) = Entry::decode(bytes.clone().into()) {
                prop_assert_eq!(entry.encoded_len(), bytes.len());
            }
        }
    }

    #[test]
    fn every_truncation_before_the_value_is_refused(entry in entries()) {
        let bytes = entry.encode();
        let header = bytes.len() - entry.value.len();
        for end in 0..header {
            prop_assert!(Entry::decode(bytes.slice(..end)).is_err());
        }
    }
}

#[test]
fn the_bytes_are_the_documented_ones() {
    let entry = Entry {
        kind: Kind::Put,
        copy: true,
        from: 3,
        partition: 0x0102,
        keyspace: 0x0a0b_0c0d,
        stamp: Stamp::new(Version(0x1122_3344_5566_7788), Origin::new(1, 2, 3)),
        logged: None,
        expiry_ms: Some(5),
        is_expiry: false,
        replaces: None,
        key: Bytes::from_static(b"k"),
        value: Bytes::from_static(b"vv"),
    };
    let expected: &[u8] = &[
        1, 3, 3, 0, // kind, flags, from, reserved
        2, 1, // partition
        0x0d, 0x0c, 0x0b, 0x0a, // keyspace
        0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, // version
        3, 0, 0, 0, 66, 0, 0, 0, // origin
        5, 0, 0, 0, 0, 0, 0, 0, // expiry
        1, 0, 0, 0, b'k', b'v', b'v',
    ];
    assert_eq!(entry.encode(), expected);
    let replaced = Stamp::new(Version(0x99), Origin::new(4, 5, 6));
    for (is_mend, flags) in [(false, 7), (true, 15)] {
        let replacing = Entry {
            replaces: Some(Replaces {
                stamp: replaced,
                is_mend,
            }),
            ..entry.clone()
        };
        let mut with_it = expected.to_vec();
        with_it[1] = flags;
        let bytes = [0x99, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 5, 1, 0, 0];
        with_it.splice(34..34, bytes);
        assert_eq!(replacing.encode(), with_it);
    }
}

#[test]
fn decoding_shares_the_buffer() {
    let bytes = Entry {
        kind: Kind::Put,
        copy: false,
        from: 1,
        partition: 0,
        keyspace: 0,
        stamp: Stamp::default(),
        logged: None,
        expiry_ms: None,
        is_expiry: false,
        replaces: None,
        key: Bytes::from_static(b"key"),
        value: Bytes::from_static(b"value"),
    }
    .encode();
    let entry = Entry::decode(bytes.clone()).unwrap();
    assert_eq!(entry.value.as_ptr(), bytes[bytes.len() - 5..].as_ptr());
}

#[test]
fn unknown_kinds_and_flags_are_refused() {
    let mut bytes = Entry::of_vector(&Vector::default()).encode().to_vec();
    for (at, value) in [(0, 0), (0, 4), (1, 8), (1, 16), (1, 128)] {
        let before = bytes[at];
        bytes[at] = value;
        assert!(matches!(
            Entry::decode(bytes.clone().into()),
            Err(DecodeError::Unknown { .. })
        ));
        bytes[at] = before;
    }
}
