#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::{block::RECYCLABLE_HEADER, options::Compression};
use proptest::prelude::*;

fn packer(compression: Compression) -> Packer {
    Packer::new(compression).unwrap().unwrap()
}

fn codec() -> impl Strategy<Value = Compression> {
    prop_oneof![Just(Compression::Lz4), Just(Compression::Zstd)]
}

fn unpack(unpacker: &mut Unpacker, payload: &[u8]) -> Option<Vec<Vec<u8>>> {
    unpacker.unpack(payload).unwrap()?;
    let mut records = Vec::new();
    while let Some(length) = unpacker.next() {
        let record = unpacker.record();
        assert_eq!(record.len(), length);
        records.push(record.to_vec());
    }
    Some(records)
}

/// A payload with a true header over any records.
fn payload(compression: Compression, count: u32, raw: &[u8]) -> Vec<u8> {
    let (code, compressed) = match compression {
        Compression::Zstd => (CODEC_ZSTD, zstd::bulk::compress(raw, 1).unwrap()),
        _ => (CODEC_LZ4, lz4_flex::block::compress(raw)),
    };
    let mut bytes = vec![code];
    bytes.extend(count.to_le_bytes());
    bytes.extend((raw.len() as u32).to_le_bytes());
    bytes.extend(compressed);
    bytes
}

fn raw(records: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in records {
        bytes.extend((record.len() as u32).to_le_bytes());
        bytes.extend(*record);
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn what_is_packed_is_unpacked(
        compression in codec(),
        batches in prop::collection::vec(
            prop::collection::vec((any::<u8>(), 0usize..3000, any::<bool>()), 1..60), 1..4),
    ) {
        let (mut packer, mut unpacker) = (packer(compression), Unpacker::default());
        for batch in batches {
            let records: Vec<Vec<u8>> = batch.iter().map(|&(seed, length, random)| {
                let mut state = u32::from(seed) + 1;
                (0..length).map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    if random { (state >> 24) as u8 } else { seed }
                }).collect()
            }).collect();
            for record in &records {
                prop_assert!(packer.has_room(record.len()));
                packer.push(record);
            }
            prop_assert!(packer.records().eq(records.iter().map(Vec::as_slice)));
            let payload_bytes: usize = records.iter().map(Vec::len).sum();
            let apart = payload_bytes + RECYCLABLE_HEADER * records.len();
            if let Some((payload, tally)) = packer.pack() {
                prop_assert!(payload.len() + RECYCLABLE_HEADER < apart);
                prop_assert_eq!(tally.raw_bytes, payload_bytes as u64);
                prop_assert_eq!(tally.compressed_bytes, payload.len() as u64);
                prop_assert_eq!(unpack(&mut unpacker, payload), Some(records));
            } else {
                // Only what does not compress, or is next to nothing, goes by itself.
                prop_assert!(apart < 100 || batch.iter().any(|&(_, length, random)| random && length > 0));
            }
            packer.clear();
            prop_assert!(packer.is_empty());
        }
    }

    #[test]
    fn no_bytes_make_it_panic_or_take_much_memory(
        code in 0u8..4, count in prop_oneof![0u32..5, any::<u32>()],
        length in prop_oneof![0u32..100, any::<u32>()],
        rest in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut bytes = vec![code];
        bytes.extend(count.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend(rest);
        let mut unpacker = Unpacker::default();
        for end in 0..bytes.len() {
            let _ = unpack(&mut unpacker, &bytes[..end]);
        }
        prop_assert!(unpacker.memory_bytes() <= RAW_BYTES_MAX_ALONE);
    }

    #[test]
    fn flipped_bits_are_refused_or_change_only_bytes_of_records(
        compression in codec(), at in 0usize..400, bit in 0u8..8,
    ) {
        let records: Vec<Vec<u8>> = (0..20u8).map(|i| vec![i; 10 + usize::from(i)]).collect();
        let records: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
        let mut bytes = payload(compression, 20, &raw(&records));
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        if let Some(read) = unpack(&mut Unpacker::default(), &bytes) {
            prop_assert_eq!(read.len(), 20);
        }
    }
}

#[test]
fn only_exactly_what_is_written_is_taken() {
    for compression in [Compression::Lz4, Compression::Zstd] {
        let whole = raw(&[&[1; 100], &[], &[2; 50]]);
        let mut unpacker = Unpacker::default();
        let good = payload(compression, 3, &whole);
        assert_eq!(
            unpack(&mut unpacker, &good),
            Some(vec![vec![1; 100], vec![], vec![2; 50]])
        );
        let mut other_codec = good.clone();
        other_codec[0] = 3;
        let mut shorter = good.clone();
        shorter[5] -= 1;
        let mut longer = good.clone();
        longer[5] += 1;
        let mut followed = good.clone();
        followed.push(0);
        for (what, bytes) in [
            ("too few", payload(compression, 2, &whole)),
            ("too many", payload(compression, 4, &whole)),
            ("none", payload(compression, 0, &[])),
            ("no records", payload(compression, 1, &[])),
            (
                "bytes behind",
                payload(compression, 3, &[&whole[..], &[0]].concat()),
            ),
            (
                "a byte missing",
                payload(compression, 3, &whole[..whole.len() - 1]),
            ),
            ("unknown codec", other_codec),
            ("raw length too small", shorter),
            ("raw length too large", longer),
            ("bytes behind the compressed", followed),
            ("cut", good[..good.len() - 1].to_vec()),
            ("header only", good[..HEADER].to_vec()),
            ("less", good[..HEADER - 1].to_vec()),
        ] {
            assert_eq!(unpack(&mut unpacker, &bytes), None, "{compression}: {what}");
            assert!(!unpacker.has_more());
        }
        assert!(
            unpack(&mut unpacker, &good).is_some(),
            "it goes on after a refusal"
        );
    }
}

#[test]
fn several_records_stay_below_a_limit_and_one_has_its_own() {
    let mut packer = packer(Compression::Lz4);
    assert!(packer.has_room(RAW_BYTES_MAX_ALONE));
    packer.push(&vec![7; RAW_BYTES_MAX - 2 * LENGTH]);
    assert!(packer.has_room(0));
    assert!(!packer.has_room(1));
    packer.push(&[]);
    let (payload, _) = packer.pack().unwrap();
    let payload = payload.to_vec();
    let mut unpacker = Unpacker::default();
    assert_eq!(unpack(&mut unpacker, &payload).unwrap().len(), 2);
    packer.clear();

    let large = vec![7; 3 * RAW_BYTES_MAX];
    assert!(Packer::takes(large.len()) && !Packer::takes(RAW_BYTES_MAX_ALONE));
    packer.push(&large);
    assert!(!packer.has_room(0));
    let payload = packer.pack().unwrap().0.to_vec();
    assert_eq!(unpack(&mut unpacker, &payload), Some(vec![large]));
    packer.clear();
    assert!(packer.memory_bytes() <= 3 * RAW_BYTES_MAX);

    // Two records above the limit of several.
    let half: &[u8] = &vec![1; RAW_BYTES_MAX / 2];
    let above = super::tests::payload(Compression::Lz4, 2, &raw(&[half, half]));
    assert_eq!(unpack(&mut unpacker, &above), None);
    // A batch of few bytes after a large one gives the memory back.
    let small = super::tests::payload(Compression::Lz4, 1, &raw(&[b"x"]));
    assert!(unpack(&mut unpacker, &small).is_some());
    assert!(unpacker.memory_bytes() <= RAW_BYTES_MAX);
}
