#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::options::Padding;
use proptest::prelude::*;

/// Logical records of a stream of blocks.
fn decode_all(bytes: &[u8], block_size: usize, expect: Expect) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    for block in bytes.chunks(block_size) {
        let mut at = 0;
        while let Decoded::Record { kind, payload } = decode(block, at, expect) {
            at = payload.end;
            match kind {
                Kind::Full | Kind::First => records.push(block[payload].to_vec()),
                Kind::Middle | Kind::Last => {
                    records
                        .last_mut()
                        .unwrap()
                        .extend_from_slice(&block[payload]);
                }
                Kind::Pad => break,
                _ => {}
            }
        }
    }
    records
}

fn form() -> impl Strategy<Value = Form> {
    prop_oneof![Just(Form::Legacy), any::<u32>().prop_map(Form::Recyclable)]
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(
        records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9000), 0..20),
        large in prop::collection::vec(0usize..300_000, 0..3),
        block_bits in 12u32..=20,
        padding in prop_oneof![Just(Padding::Fragment), Just(Padding::Pad)],
        form in form(),
    ) {
        let block_size = 1usize << block_bits;
        let mut encoder = Encoder::new(block_size as u32, padding, form, 0);
        let mut bytes = Vec::new();
        let mut wanted = records;
        wanted.extend(large.into_iter().map(|length| vec![9; length]));
        for record in &wanted {
            encoder.record(record, &mut bytes);
        }
        let expect = match form {
            Form::Legacy => Expect::Any,
            Form::Recyclable(number) => Expect::Number(number),
        };
        prop_assert_eq!(decode_all(&bytes, block_size, expect), wanted);
    }

    /// At every offset, also within records and where bytes are damaged.
    #[test]
    fn the_short_way_to_whole_records_sees_what_the_long_way_sees(
        records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..900), 0..12),
        number in 0u32..3,
        expected in 0u32..3,
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 0..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let block_size = 4096;
        let form = Form::Recyclable(number);
        let mut encoder = Encoder::new(block_size as u32, Padding::Fragment, form, 0);
        let mut bytes = Vec::new();
        encoder.own(Kind::SyncMark, &[0; 8], &mut bytes);
        for record in &records {
            encoder.record(record, &mut bytes);
        }
        for (at, bit) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        bytes.truncate(bytes.len() - cut.index(40).min(bytes.len()));
        let full = Full::of(expected);
        for block in bytes.chunks(block_size) {
            for at in 0..=block.len() + 1 {
                let wanted = match decode(block, at, Expect::Number(expected)) {
                    Decoded::Record { kind: Kind::Full, payload } => Some(payload),
                    _ => None,
                };
                prop_assert_eq!(full.at(block, at), wanted);
            }
        }
    }

    #[test]
    fn an_encoder_goes_on_where_another_stopped(
        lengths in prop::collection::vec(0usize..6000, 1..20),
        pad in any::<bool>(),
    ) {
        let padding = if pad { Padding::Pad } else { Padding::Fragment };
        let form = Form::Recyclable(7);
        let mut whole = Vec::new();
        let mut encoder = Encoder::new(4096, padding, form, 0);
        let mut parts = Vec::new();
        for length in lengths {
            encoder.record(&vec![1; length], &mut whole);
            let mut fresh = Encoder::new(4096, padding, form, parts.len() as u64);
            fresh.record(&vec![1; length], &mut parts);
        }
        prop_assert_eq!(whole, parts);
    }

    #[test]
    fn no_flipped_bit_passes(length in 0usize..200, bit in 0usize..8, at in 0usize..200) {
        let mut bytes = Vec::new();
        Encoder::new(4096, Padding::Fragment, Form::Recyclable(3), 0)
            .record(&vec![5; length], &mut bytes);
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        bytes.resize(4096, 0);
        let decoded = decode(&bytes, 0, Expect::Number(3));
        prop_assert!(matches!(decoded, Decoded::Invalid(_)), "{decoded:?}");
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..64), at in 0usize..70) {
        let _ = decode(&bytes, at, Expect::Any);
        let _ = decode(&bytes, at, Expect::Number(1));
    }
}

/// The bytes LevelDB writes for the record "foo": computed from its format document, with the CRC
/// of the type byte and payload by another implementation.
#[test]
fn the_legacy_form_is_leveldbs() {
    let mut bytes = Vec::new();
    Encoder::new(32 << 10, Padding::Fragment, Form::Legacy, 0).record(b"foo", &mut bytes);
    let crc = bitwise_crc32c(b"\x01foo");
    let masked = crc.rotate_right(15).wrapping_add(0xa282_ead8);
    assert_eq!(bytes[..4], masked.to_le_bytes());
    assert_eq!(bytes[4..], *b"\x03\x00\x01foo");
}

#[test]
fn the_recyclable_form_is_rocksdbs() {
    let mut bytes = Vec::new();
    Encoder::new(
        32 << 10,
        Padding::Fragment,
        Form::Recyclable(0x0102_0304),
        0,
    )
    .record(b"foo", &mut bytes);
    let crc = bitwise_crc32c(b"\x05\x04\x03\x02\x01foo");
    let masked = crc.rotate_right(15).wrapping_add(0xa282_ead8);
    assert_eq!(bytes[..4], masked.to_le_bytes());
    assert_eq!(bytes[4..], *b"\x03\x00\x05\x04\x03\x02\x01foo");
}

/// To RocksDB a record of Dunlin's own is a 7-byte header of an unknown type it may ignore.
#[test]
fn own_records_are_legacy_records_of_an_ignorable_type() {
    let mut bytes = Vec::new();
    Encoder::new(4096, Padding::Fragment, Form::Recyclable(1), 0).own(
        Kind::SyncMark,
        &[8; 8],
        &mut bytes,
    );
    let length = usize::from(u16::from_le_bytes([bytes[4], bytes[5]]));
    assert_eq!(bytes.len(), LEGACY_HEADER + length);
    assert!(bytes[6] & 128 != 0);
    let crc = bitwise_crc32c(&bytes[6..]);
    let masked = crc.rotate_right(15).wrapping_add(0xa282_ead8);
    assert_eq!(bytes[..4], masked.to_le_bytes());
}

/// "123456789" gives the check value every CRC catalogue lists for CRC-32C.
#[test]
fn the_reference_checksum_is_right() {
    assert_eq!(bitwise_crc32c(b"123456789"), 0xe306_9283);
    assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
}

fn bitwise_crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |mut crc: u32, byte| {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
        }
        crc
    })
}

#[test]
fn padding_starts_a_record_that_fits_in_the_next_block() {
    let mut encoder = Encoder::new(4096, Padding::Pad, Form::Recyclable(1), 0);
    let mut bytes = Vec::new();
    encoder.record(&[1; 3000], &mut bytes);
    encoder.record(&[2; 3000], &mut bytes);
    assert_eq!(bytes.len(), 4096 + RECYCLABLE_HEADER + 3000);
    // One that fits in no block is split from where it can begin: an empty block.
    encoder.record(&[3; 5000], &mut bytes);
    let fragmented = bytes.len();
    encoder.record(&[], &mut bytes);
    assert_eq!(bytes.len(), fragmented + RECYCLABLE_HEADER);
    assert_eq!(decode_all(&bytes, 4096, Expect::Number(1)).len(), 4);
}

#[test]
fn an_exact_fit_leaves_no_tail_and_a_short_tail_is_zero() {
    for spare in 0..=RECYCLABLE_HEADER {
        let mut encoder = Encoder::new(4096, Padding::Fragment, Form::Recyclable(1), 0);
        let mut bytes = Vec::new();
        encoder.record(&vec![1; 4096 - RECYCLABLE_HEADER - spare], &mut bytes);
        encoder.record(&[2; 4], &mut bytes);
        // With exactly a header left, a first fragment of no bytes fills the block.
        let header = if spare == RECYCLABLE_HEADER { 11 } else { 0 };
        assert_eq!(bytes.len(), 4096 + 11 + 4, "{spare}");
        assert!(header == 11 || bytes[4096 - spare..4096].iter().all(|byte| *byte == 0));
        assert_eq!(decode_all(&bytes, 4096, Expect::Number(1))[1], [2; 4]);
    }
}

#[test]
fn another_log_number_and_the_legacy_form_are_refused() {
    let mut bytes = Vec::new();
    Encoder::new(4096, Padding::Fragment, Form::Recyclable(1), 0).record(b"old", &mut bytes);
    assert_eq!(
        decode(&bytes, 0, Expect::Number(2)),
        Decoded::Invalid(Invalid::Number)
    );
    let mut bytes = Vec::new();
    Encoder::new(4096, Padding::Fragment, Form::Legacy, 0).record(b"legacy", &mut bytes);
    assert_eq!(
        decode(&bytes, 0, Expect::Number(2)),
        Decoded::Invalid(Invalid::Number)
    );
}

/// A batch is split like a record, into records of Dunlin's own.
#[test]
fn a_batch_is_split_into_own_records() {
    for (block_size, padding) in [
        (4096u32, Padding::Fragment),
        (4096, Padding::Pad),
        (1 << 20, Padding::Fragment),
        (1 << 20, Padding::Pad),
    ] {
        for length in [1, 4000, 4085, 4086, 65_531, 65_532, 200_000] {
            let payload: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let mut encoder = Encoder::new(block_size, padding, Form::Recyclable(9), 0);
            let mut bytes = Vec::new();
            encoder.record(b"before", &mut bytes);
            let before = bytes.len();
            encoder.batch(&payload, &mut bytes);
            encoder.record(b"behind", &mut bytes);
            let mut gathered = Vec::new();
            let mut kinds = Vec::new();
            for (start, block) in (0..)
                .step_by(block_size as usize)
                .zip(bytes.chunks(block_size as usize))
            {
                let mut at = 0;
                while let Decoded::Record { kind, payload } = decode(block, at, Expect::Number(9)) {
                    if kind == Kind::Pad {
                        break;
                    }
                    if kind.is_own() {
                        // To RocksDB a legacy record, safe to ignore.
                        assert_eq!(block[at + 6] & 128, 128);
                        let counted = u16::from_le_bytes([block[at + 4], block[at + 5]]);
                        assert_eq!(at + LEGACY_HEADER + usize::from(counted), payload.end);
                        assert!(start + at >= before);
                        gathered.extend_from_slice(&block[payload.clone()]);
                        kinds.push(kind);
                    }
                    at = payload.end;
                }
            }
            assert_eq!(gathered, payload, "{length} in blocks of {block_size}");
            let whole = length + RECYCLABLE_HEADER <= block_size as usize && length <= 65_531;
            let fits = before + RECYCLABLE_HEADER + length <= block_size as usize;
            assert_eq!(
                kinds == [Kind::BatchFull],
                whole && (fits || padding == Padding::Pad),
                "{length} in blocks of {block_size} {padding:?}: {kinds:?}"
            );
            if kinds.len() > 1 {
                assert_eq!(kinds[0], Kind::BatchFirst);
                assert_eq!(kinds.last(), Some(&Kind::BatchLast));
                assert!(
                    kinds[1..kinds.len() - 1]
                        .iter()
                        .all(|&kind| kind == Kind::BatchMiddle)
                );
            }
        }
    }
}
