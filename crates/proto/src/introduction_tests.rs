#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;

#[test]
fn the_bytes_are_those_of_the_formats() {
    let said = Introduction {
        shard: 1,
        asker: 2,
        incarnation: 3,
        wanted: 4,
        cluster: "ab".to_owned(),
    };
    let body = said.encode("n2");
    let bytes = b"\x01\x00\x02\x00\x03\x00\x00\x00\x04\x00\x00\x00\x02abn2";
    assert_eq!(body, &bytes[..]);
    assert_eq!(Introduction::decode(body, "n3"), None);
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
        let said = Introduction { shard, asker, incarnation, wanted, cluster };
        let body = said.encode(&node);
        prop_assert_eq!(Introduction::decode(body, &node), Some(said));
    }

    #[test]
    fn any_bytes_are_an_introduction_or_none(
        body in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        let _ = Introduction::decode(body.into(), "n1");
    }
}
