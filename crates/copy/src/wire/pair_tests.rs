#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use proptest::prelude::*;

type Owned = (Vec<u8>, Vec<u8>);

fn pairs() -> impl Strategy<Value = Vec<Owned>> {
    let bytes = || proptest::collection::vec(any::<u8>(), 0..20);
    proptest::collection::vec((bytes(), bytes()), 0..20)
}

fn encoded(pairs: &[Owned]) -> Vec<u8> {
    let mut out = Vec::new();
    for (key, value) in pairs {
        push(&mut out, key, value);
    }
    out
}

fn tally(pairs: &[Owned]) -> Tally {
    let bytes = encoded(pairs);
    let mut tally = Tally::default();
    Pairs(&bytes).for_each(|pair| tally.add(pair.unwrap().encoded));
    tally
}

proptest! {
    #[test]
    fn pairs_come_back(pairs in pairs()) {
        let bytes = encoded(&pairs);
        let back: Vec<Owned> = Pairs(&bytes)
            .map(|pair| pair.map(|pair| (pair.key.to_vec(), pair.value.to_vec())).unwrap())
            .collect();
        prop_assert_eq!(back, pairs);
    }

    #[test]
    fn cut_pairs_are_malformed(pairs in pairs(), at: proptest::sample::Index) {
        let bytes = encoded(&pairs);
        prop_assume!(!bytes.is_empty());
        let cut = &bytes[..at.index(bytes.len())];
        let whole = Pairs(cut).filter(Result::is_ok).count();
        prop_assert!(whole < pairs.len());
        let consumed: usize = Pairs(cut).flatten().map(|pair| pair.encoded.len()).sum();
        prop_assert_eq!(Pairs(cut).any(|pair| pair.is_err()), consumed < cut.len());
    }

    #[test]
    fn the_checksum_ignores_order_and_nothing_else(
        pairs in pairs(), moved: proptest::sample::Index, bit in 0usize..8,
    ) {
        prop_assume!(!pairs.is_empty());
        let mut other = pairs.clone();
        let at = moved.index(other.len());
        other.rotate_left(at);
        prop_assert_eq!(tally(&other), tally(&pairs));
        match other[0].1.first_mut() {
            Some(byte) => *byte ^= 1 << bit,
            None => other[0].1.push(0),
        }
        prop_assert_ne!(tally(&other).checksum, tally(&pairs).checksum);
    }
}

#[test]
fn a_byte_that_moves_from_key_to_value_is_seen() {
    let one = tally(&[(b"ab".to_vec(), b"c".to_vec())]);
    let other = tally(&[(b"a".to_vec(), b"bc".to_vec())]);
    assert_eq!(one.bytes, other.bytes);
    assert_ne!(one.checksum, other.checksum);
}

#[test]
fn a_hash_is_that_of_the_encoding_however_large_the_value() {
    let mut scratch = b"left over".to_vec();
    for bytes in [0, 1, JOINED_BYTES_MAX, JOINED_BYTES_MAX + 1, 100_000] {
        let value: Vec<u8> = (0..bytes).map(|at| (at % 251) as u8).collect();
        let mut encoded = Vec::new();
        push(&mut encoded, b"key", &value);
        let hashed = hash(&mut scratch, b"key", &value);
        assert_eq!(hashed, xxh3_128(&encoded), "{bytes}");
        let (mut one, mut other) = (Tally::default(), Tally::default());
        one.add(&encoded);
        other.add_hashed(b"key".len() + bytes, hashed);
        assert_eq!(one, other);
    }
}
