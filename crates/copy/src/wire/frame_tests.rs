#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use proptest::prelude::*;

fn read(mut input: &[u8]) -> io::Result<Frame> {
    let head = read_head(&mut input)?;
    read_body(&mut input, &head)
}

proptest! {
    #[test]
    fn a_flipped_bit_never_makes_another_frame(
        body in proptest::collection::vec(any::<u8>(), 0..20_000),
        kind: u8,
        at: proptest::sample::Index,
        bit in 0u8..8,
    ) {
        let mut bytes = Vec::new();
        write(&mut bytes, kind, &body).unwrap();
        let whole = read(&bytes).unwrap();
        prop_assert_eq!((whole.kind, &whole.body), (kind, &body));
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert!(read(&bytes).is_err());
    }

    #[test]
    fn any_bytes_are_a_frame_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = read(&bytes);
    }
}

#[test]
fn the_bytes_are_those_of_the_format_document() {
    let mut bytes = Vec::new();
    write(&mut bytes, 7, b"xy").unwrap();
    assert_eq!(bytes[..4], 3u32.to_le_bytes());
    assert_eq!(bytes[4..8], crc32c::crc32c(b"\x07xy").to_le_bytes());
    assert_eq!(bytes[8..], *b"\x07xy");
}

#[test]
fn impossible_lengths_are_refused_before_anything_is_allocated() {
    for length in [0, FRAME_BYTES_MAX as u32 + 1, u32::MAX] {
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.extend_from_slice(&[0; 5]);
        let error = read(&bytes).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
    assert!(write(&mut Vec::new(), 1, &vec![0; FRAME_BYTES_MAX]).is_err());
}
