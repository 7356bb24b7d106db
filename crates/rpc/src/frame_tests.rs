#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use proptest::prelude::*;

fn kinds() -> impl Strategy<Value = Kind> {
    (0u8..12).prop_filter_map("not a kind", Kind::from_byte)
}

fn frames() -> impl Strategy<Value = Vec<(Kind, u64, Vec<u8>)>> {
    let body = proptest::collection::vec(any::<u8>(), 0..300);
    proptest::collection::vec((kinds(), any::<u64>(), body), 0..8)
}

fn encoded(frames: &[(Kind, u64, Vec<u8>)]) -> BytesMut {
    let mut out = BytesMut::new();
    for (kind, call, body) in frames {
        append(&mut out, *kind, *call, FRAME_BYTES_MAX, |out| {
            out.put_slice(body)
        })
        .unwrap();
    }
    out
}

proptest! {
    #[test]
    fn frames_come_back_however_the_bytes_are_cut(frames in frames(), cut in 1usize..40) {
        let bytes = encoded(&frames);
        let mut input = BytesMut::new();
        let mut back = Vec::new();
        for chunk in bytes.chunks(cut) {
            input.extend_from_slice(chunk);
            while let Some(frame) = take(&mut input, FRAME_BYTES_MAX).unwrap() {
                back.push((frame.kind, frame.call, frame.body.to_vec()));
            }
        }
        prop_assert_eq!(back, frames);
        prop_assert!(input.is_empty());
    }

    #[test]
    fn any_bytes_are_a_frame_an_error_or_too_few(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut input = BytesMut::from(&bytes[..]);
        while let Ok(Some(_)) = take(&mut input, 4096) {}
    }

    #[test]
    fn a_flipped_bit_never_makes_another_frame(
        body in proptest::collection::vec(any::<u8>(), 0..300),
        call: u64,
        at: proptest::sample::Index,
        bit in 0u8..8,
    ) {
        let mut bytes = encoded(&[(Kind::Response, call, body), (Kind::Ping, 0, vec![])]);
        let at = at.index(bytes.len() - FRAME_OVERHEAD_BYTES);
        bytes[at] ^= 1 << bit;
        prop_assert!(!matches!(take(&mut bytes, FRAME_BYTES_MAX), Ok(Some(_))));
    }
}

#[test]
fn the_bytes_are_those_of_the_format_document() {
    let bytes = encoded(&[(Kind::Refusal, 0x0102_0304_0506_0708, b"xy".to_vec())]);
    let covered = [2, 8, 7, 6, 5, 4, 3, 2, 1, b'x', b'y'];
    assert_eq!(bytes[..4], 11u32.to_le_bytes());
    assert_eq!(bytes[4..8], crc32c::crc32c(&covered).to_le_bytes());
    assert_eq!(bytes[8..], covered);
}

#[test]
fn impossible_lengths_are_errors_before_the_rest_arrives() {
    for bytes in [0usize, 8, 101, u32::MAX as usize] {
        let mut input = BytesMut::from(&(bytes as u32).to_le_bytes()[..]);
        let error = FrameError::Length {
            bytes,
            bytes_max: 100,
        };
        assert_eq!(take(&mut input, 100), Err(error));
    }
}

#[test]
fn a_frame_over_the_limit_is_taken_back() {
    let mut out = encoded(&[(Kind::Ping, 0, vec![])]);
    let before = out.clone();
    let refused = append(&mut out, Kind::Request, 1, 100, |out| out.put_bytes(0, 92));
    assert_eq!((refused, out), (Err(101), before));
}
