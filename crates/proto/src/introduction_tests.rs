#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;

const OLDEST: u16 = 1;
const NEWEST: u16 = 2;

#[test]
fn the_oldest_version_is_what_it_always_was() {
    let said = Introduction {
        shard: 3,
        asker: 258,
        incarnation: Some(7),
        wanted: 9,
        cluster: "flock".to_owned(),
    };
    let body = said.encode(OLDEST, "n2");
    assert_eq!(body, &b"\x03\x00\x02\x01n2"[..]);
    let read = Introduction::decode(OLDEST, body, "n2").unwrap();
    let known = Introduction {
        incarnation: None,
        wanted: 0,
        cluster: String::new(),
        ..said
    };
    assert_eq!(read, known);
}

#[test]
fn the_bytes_are_those_of_the_formats() {
    let said = Introduction {
        shard: 1,
        asker: 2,
        incarnation: Some(3),
        wanted: 4,
        cluster: "ab".to_owned(),
    };
    let body = said.encode(NEWEST, "n2");
    let bytes = b"\x01\x00\x02\x00\x03\x00\x00\x00\x04\x00\x00\x00\x02abn2";
    assert_eq!(body, &bytes[..]);
    assert_eq!(Introduction::decode(NEWEST, body.clone(), "n3"), None);
    assert_eq!(Introduction::decode(OLDEST, body, "n2"), None);
    assert_eq!(
        Introduction::decode_answer(&Introduction::encode_answer(0x0102_0304)),
        Some(0x0102_0304)
    );
    assert_eq!(Introduction::decode_answer(b""), None);
}

proptest! {
    #[test]
    fn what_is_said_is_what_is_heard(
        shard: u16, asker: u16, incarnation: u32, wanted: u32, cluster in "[a-z0-9-]{0,40}",
        node in "[a-z0-9.]{1,63}",
    ) {
        let said = Introduction { shard, asker, incarnation: Some(incarnation), wanted, cluster };
        let body = said.encode(NEWEST, &node);
        prop_assert_eq!(Introduction::decode(NEWEST, body, &node), Some(said));
    }

    #[test]
    fn any_bytes_are_an_introduction_or_none(
        protocol in 1u16..4, body in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        let _ = Introduction::decode(protocol, body.into(), "n1");
    }
}
