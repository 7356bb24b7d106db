#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn a_body_is_what_the_formats_say() {
    let mut pairs = Pairs::default();
    let encoded = pairs.push(b"key", b"value").unwrap().to_vec();
    assert_eq!(encoded, b"\x03\0\0\0\x05\0\0\0keyvalue");
    assert_eq!(pairs.push(b"k", b"").unwrap(), b"\x01\0\0\0\0\0\0\0k");
    assert_eq!((pairs.len(), pairs.encoded_bytes()), (2, 25));
    let body = pairs.seal();
    assert_eq!((body.pairs(), body.bytes()), (2, 9));
    let (encoded, checksum) = body.body().split_at(25);
    assert_eq!(encoded, b"\x03\0\0\0\x05\0\0\0keyvalue\x01\0\0\0\0\0\0\0k");
    assert_eq!(checksum, crc32c::crc32c(encoded).to_le_bytes());
}

#[test]
fn an_empty_key_is_refused_and_changes_nothing() {
    let mut pairs = Pairs::with_capacity(100);
    let refused = pairs.push(b"", b"value");
    assert!(matches!(refused, Err(ClientError::Invalid(_))));
    assert!(pairs.is_empty());
    assert_eq!(&pairs.seal().body()[..], [0; 4]);
}
