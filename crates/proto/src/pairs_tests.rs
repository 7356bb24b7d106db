#![allow(clippy::unwrap_used, clippy::expect_used)]
use proptest::prelude::*;

use super::*;

fn body(pairs: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (key, value) in pairs {
        body.extend_from_slice(&(key.len() as u32).to_le_bytes());
        body.extend_from_slice(&(value.len() as u32).to_le_bytes());
        body.extend_from_slice(key);
        body.extend_from_slice(value);
    }
    sealed(body)
}

fn sealed(mut encoded: Vec<u8>) -> Vec<u8> {
    let checksum = crc32c::crc32c(&encoded);
    encoded.extend_from_slice(&checksum.to_le_bytes());
    encoded
}

/// The longest key of these tests.
const KEY_BYTES: usize = 65_536;

fn check(body: Bytes) -> Result<CheckedPairs, String> {
    CheckedPairs::check(body, KEY_BYTES)
}

fn refused(body: Vec<u8>) -> String {
    check(body.into()).unwrap_err()
}

#[test]
fn no_pairs_are_a_checksum_and_nothing_else() {
    let pairs = check(body(&[]).into()).unwrap();
    assert_eq!((pairs.pairs, pairs.bytes), (0, 0));
    assert_eq!(pairs.count(), 0);
    assert!(refused(Vec::new()).contains("too short"));
}

#[test]
fn keys_and_lengths_are_checked_behind_a_right_checksum() {
    let key = |bytes: usize| vec![b'k'; bytes];
    let longest = body(&[(key(KEY_BYTES), b"v".to_vec())]);
    assert_eq!(longest.len(), HEAD_BYTES + KEY_BYTES + 1 + CHECKSUM_BYTES);
    assert_eq!(check(longest.into()).unwrap().pairs, 1);
    for (pair, words) in [
        ((Vec::new(), b"v".to_vec()), "pair 2 0"),
        ((key(KEY_BYTES + 1), Vec::new()), "pair 2 65537"),
    ] {
        let said = refused(body(&[(key(1), Vec::new()), pair]));
        assert!(said.contains(words), "{said}");
    }
    // A length that reaches over the end of the body, and over the end of memory.
    for length in [2, u32::MAX] {
        let mut encoded = b"\x01\0\0\0".to_vec();
        encoded.extend_from_slice(&length.to_le_bytes());
        encoded.extend_from_slice(b"kv");
        assert!(refused(sealed(encoded)).contains("ends within pair 1"));
    }
}

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
fn an_end_of_a_value_travels_between_lengths_and_key() {
    let mut pairs = Pairs::default();
    let encoded = pairs.push_until(b"key", b"v", Some(258)).unwrap();
    assert_eq!(encoded, b"\x03\0\0\x80\x01\0\0\0\x02\x01\0\0\0\0\0\0keyv");
    pairs.push(b"k", b"").unwrap();
    let body = pairs.seal();
    assert_eq!((body.pairs(), body.bytes()), (2, 5));
    let read = check(body.body().clone()).unwrap();
    assert_eq!((read.pairs, read.bytes), (2, 5));
    let ends: Vec<_> = read.map(|pair| (pair.key, pair.expires_ms)).collect();
    assert_eq!(ends, [("key".into(), Some(258)), ("k".into(), None)]);
    // A body that ends within the time.
    let cut = b"\x01\0\0\x80\0\0\0\0\x02\x01\0".to_vec();
    assert!(refused(sealed(cut)).contains("ends within pair 1"));
}

#[test]
fn an_empty_key_is_refused_and_changes_nothing() {
    let mut pairs = Pairs::with_capacity(100);
    let refused = pairs.push(b"", b"value");
    assert_eq!(refused, Err(PairError::EmptyKey));
    assert!(pairs.is_empty());
    assert_eq!(&pairs.seal().body()[..], [0; 4]);
}

proptest! {
    #[test]
    fn pairs_come_back_and_damage_is_seen(
        pairs in prop::collection::vec(
            (prop::collection::vec(any::<u8>(), 1..20), prop::collection::vec(any::<u8>(), 0..40)),
            0..20,
        ),
        at in any::<prop::sample::Index>(),
        flip in 1..=255u8,
    ) {
        let encoded = body(&pairs);
        let mut gathered = Pairs::default();
        for (key, value) in &pairs {
            gathered.push(key, value).unwrap();
        }
        let sent = gathered.seal();
        prop_assert_eq!(&sent.body()[..], &encoded[..]);
        let read = check(encoded.clone().into()).unwrap();
        let bytes: usize = pairs.iter().map(|(key, value)| key.len() + value.len()).sum();
        prop_assert_eq!((read.pairs, read.bytes), (pairs.len() as u64, bytes as u64));
        let read: Vec<_> = read.map(|pair| (pair.key.to_vec(), pair.value.to_vec())).collect();
        prop_assert_eq!(&read, &pairs);
        let mut damaged = encoded.clone();
        damaged[at.index(encoded.len())] ^= flip;
        prop_assert!(check(damaged.into()).is_err());
        prop_assert!(check(encoded[..encoded.len() - 1].to_vec().into()).is_err());
    }

    #[test]
    fn no_bytes_make_it_panic(encoded in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = check(sealed(encoded).into());
    }
}
