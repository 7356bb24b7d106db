#![allow(clippy::unwrap_used)]
use dunlin_entry::{Origin, Position, Stamp};
use proptest::prelude::*;

use super::*;

const PREAMBLE: Preamble = Preamble {
    cluster: 5 << 114 | 9,
    keyspace: 3,
    link: 2,
    sent: Version(1_000),
    deadline: Version(61_000),
    is_repair: true,
};

fn entry(key: &'static [u8], kind: Kind) -> Entry {
    Entry {
        kind,
        copy: true,
        from: 3,
        partition: 17,
        keyspace: 4,
        stamp: Stamp::new(Version(900), Origin::new(1, 0, 1).in_cluster(5)),
        logged: Some(Box::new(Position::new(
            Origin::new(2, 0, 1).in_cluster(7),
            Version(950),
        ))),
        expiry_ms: (kind == Kind::Delete).then_some(77),
        is_expiry: kind == Kind::Delete,
        replaces: None,
        key: Bytes::from_static(key),
        value: match kind {
            Kind::Put => Bytes::from_static(b"value"),
            _ => Bytes::new(),
        },
    }
}

fn body(preamble: &Preamble) -> Bytes {
    let mut builder = Builder::default();
    builder.push(&entry(b"a", Kind::Put));
    builder.push(&entry(b"b", Kind::Delete));
    assert_eq!((builder.count, builder.payload_bytes), (2, 7));
    builder.finish(preamble)
}

#[test]
fn entries_come_back_without_their_place_in_the_senders_cluster() {
    let plain = |entry: Entry| Entry {
        copy: false,
        from: 0,
        partition: 0,
        keyspace: 0,
        logged: None,
        ..entry
    };
    let expected = [entry(b"a", Kind::Put), entry(b"b", Kind::Delete)].map(plain);
    for is_repair in [false, true] {
        let preamble = Preamble {
            is_repair,
            ..PREAMBLE
        };
        let back = decode(body(&preamble)).unwrap();
        assert_eq!(back, (preamble, expected.to_vec()));
    }
    let none = Builder::default().finish(&PREAMBLE);
    assert_eq!(decode(none), Ok((PREAMBLE, Vec::new())));
}

#[test]
fn what_is_no_batch_is_refused() {
    let sealed = |mut bytes: BytesMut| {
        let sum = crc32c::crc32c(&bytes);
        bytes.put_u32_le(sum);
        decode(bytes.freeze())
    };
    let whole = body(&PREAMBLE);
    let inside = BytesMut::from(&whole[..whole.len() - 4]);
    assert!(sealed(inside.clone()).is_ok());
    assert_eq!(
        decode(Bytes::new()),
        Err(BatchError::Damaged("it is empty"))
    );
    let mut form = inside.clone();
    form[0] = 2;
    assert_eq!(sealed(form), Err(BatchError::Form(2)));
    let mut flags = inside.clone();
    flags[HEAD_BYTES - 1] = 2;
    let unknown = BatchError::Damaged("it has unknown flags");
    assert_eq!(sealed(flags), Err(unknown));
    let short = BytesMut::from(&inside[..inside.len() - 1]);
    let cut = BatchError::Damaged("an entry is cut short");
    assert_eq!(sealed(short), Err(cut));
    let mut vector = inside;
    vector[HEAD_BYTES + 4] = 3;
    assert!(matches!(sealed(vector), Err(BatchError::Entry(_))));
}

proptest! {
    #[test]
    fn a_changed_byte_is_found(at in 0usize..120, flip in 1u8..) {
        let mut bytes = BytesMut::from(&body(&PREAMBLE)[..]);
        let at = at % bytes.len();
        bytes[at] ^= flip;
        prop_assert!(decode(bytes.freeze()).is_err());
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        let _ = decode(bytes.into());
    }
}
