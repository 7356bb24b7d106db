#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::batch::Packer;
use crate::block::{self, Encoder, Kind, checksum::mask};
use crate::options::{Compression, Padding};
use crate::segment::mark;
use proptest::prelude::*;

/// All that an inspector tells of some bytes.
#[derive(Debug)]
struct Told {
    layout: Layout,
    events: Vec<Event>,
    payloads: Vec<Vec<u8>>,
    /// Records inside batches.
    batched: Vec<Vec<u8>>,
    stat: Stat,
}

impl Told {
    fn records(&self) -> Vec<Record> {
        let record = |event: &Event| match event {
            Event::Record(record) => Some(*record),
            _ => None,
        };
        self.events.iter().filter_map(record).collect()
    }

    fn end(&self) -> End {
        match self.events.last() {
            Some(Event::End(end)) => *end,
            other => panic!("no end: {other:?}"),
        }
    }
}

/// Inspects, and checks what always holds: it ends, offsets grow, and every byte is in one place.
fn inspect_with(bytes: &[u8], settings: &Settings) -> Result<Told, InspectError> {
    let mut inspector = Inspector::new(bytes, settings)?;
    let mut told = Told {
        layout: inspector.layout().clone(),
        events: Vec::new(),
        payloads: Vec::new(),
        batched: Vec::new(),
        stat: Stat::default(),
    };
    let (mut accounted, mut at) = (0, 0);
    loop {
        let event = inspector.next_event().unwrap();
        told.stat.add(&event, &inspector);
        let (offset, taken) = match &event {
            Event::Physical(it) => (
                it.offset,
                u64::from(it.header_bytes) + u64::from(it.payload_bytes),
            ),
            Event::Padding(it) => (it.offset, it.bytes),
            Event::Damage(it) if it.skipped_bytes > 0 => (it.offset, it.skipped_bytes),
            Event::End(it) => (it.offset, it.unused_bytes),
            Event::Record(_) => {
                told.payloads.push(inspector.payload().to_vec());
                told.batched.extend(inspector.batched().map(<[u8]>::to_vec));
                (at, 0)
            }
            Event::Damage(_) | Event::Own(_) => (at, 0),
        };
        assert_eq!(offset, at, "bytes left out or told of twice: {event:?}");
        at += taken;
        accounted += taken;
        told.events.push(event);
        assert!(told.events.len() <= 4 * bytes.len() + 4, "no end");
        if let Some(Event::End(end)) = told.events.last() {
            assert_eq!(inspector.next_event().unwrap(), Event::End(*end));
            break;
        }
    }
    assert_eq!(accounted, bytes.len() as u64);
    let stat = &told.stat;
    assert_eq!(
        stat.used_bytes,
        stat.payload_bytes
            + stat.header_bytes
            + stat.tail_bytes
            + stat.padded_bytes
            + stat.own_bytes
            + stat.stray_bytes
            + stat.skipped_bytes
    );
    assert_eq!(stat.used_bytes + stat.unused_bytes, bytes.len() as u64);
    Ok(told)
}

fn inspect(bytes: &[u8], block_size_bytes: u32) -> Told {
    let settings = Settings {
        block_size_bytes,
        ..Settings::default()
    };
    inspect_with(bytes, &settings).unwrap()
}

/// Bytes of a log, how its records are laid out in it, and what is in them.
#[derive(Clone)]
struct Written {
    bytes: Vec<u8>,
    block_size_bytes: u32,
    records: Vec<Vec<u8>>,
    /// Where each record ends.
    ends: Vec<usize>,
    /// What its file name would tell.
    number: u32,
}

impl std::fmt::Debug for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (size, code) = (self.block_size_bytes, self.bytes[6]);
        let ends = &self.ends;
        write!(
            f,
            "blocks of {size}, type {code} first, records end at {ends:?}"
        )
    }
}

impl Written {
    /// With the number of the file's name, or without.
    fn settings(&self, named: bool) -> Settings {
        Settings {
            block_size_bytes: self.block_size_bytes,
            number: named.then_some(self.number),
            ..Settings::default()
        }
    }
}

/// Dunlin's: a header, and a sync mark after every third record.
fn dunlin(number: u64, block_size_bytes: u32, padding: Padding, lengths: &[usize]) -> Written {
    let form = block::Form::Recyclable(number as u32);
    let mut encoder = Encoder::new(block_size_bytes, padding, form, 0);
    let mut bytes = Vec::new();
    let header = SegmentHeader {
        number,
        first_index: 1,
        block_size_bytes,
        padding,
        compression: Compression::None,
        direct_io: false,
        previous_synced: false,
        previous_length: 0,
    };
    encoder.own(Kind::SegmentHeader, &header.encode(), &mut bytes);
    let records = payloads(number, lengths);
    let mut ends = Vec::new();
    for (at, record) in records.iter().enumerate() {
        if at % 3 == 2 {
            let synced = mark::encode(bytes.len() as u64);
            encoder.own(Kind::SyncMark, &synced, &mut bytes);
        }
        encoder.record(record, &mut bytes);
        ends.push(bytes.len());
    }
    Written {
        bytes,
        block_size_bytes,
        records,
        ends,
        number: number as u32,
    }
}

fn rocksdb(
    form: block::Form,
    block_size_bytes: u32,
    padding: Padding,
    lengths: &[usize],
) -> Written {
    let mut encoder = Encoder::new(block_size_bytes, padding, form, 0);
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    let seed = match form {
        block::Form::Legacy => 1,
        block::Form::Recyclable(number) => u64::from(number),
    };
    let records = payloads(seed, lengths);
    for record in &records {
        encoder.record(record, &mut bytes);
        ends.push(bytes.len());
    }
    Written {
        bytes,
        block_size_bytes,
        records,
        ends,
        number: seed as u32,
    }
}

/// Distinct payloads without zeros.
fn payloads(seed: u64, lengths: &[usize]) -> Vec<Vec<u8>> {
    let payload = |(at, length): (usize, &usize)| {
        (0..*length)
            .map(|byte| ((seed as usize * 31 + at * 7 + byte * 13) % 255 + 1) as u8)
            .collect()
    };
    lengths.iter().enumerate().map(payload).collect()
}

/// A physical record of any type.
fn physical(code: u8, number: Option<u32>, counts_number: bool, payload: &[u8]) -> Vec<u8> {
    let mut checked = vec![code];
    checked.extend(number.into_iter().flat_map(u32::to_le_bytes));
    let header = checked.len() - 1;
    checked.extend(payload);
    let counted = payload.len() + if counts_number { header } else { 0 };
    let mut bytes = mask(crc32c::crc32c(&checked)).to_le_bytes().to_vec();
    bytes.extend((counted as u16).to_le_bytes());
    bytes.extend(checked);
    bytes
}

fn any_log() -> impl Strategy<Value = Written> {
    let lengths = prop_oneof![
        prop::collection::vec(1usize..300, 1..80),
        prop::collection::vec(1usize..9000, 1..12),
        prop::collection::vec(
            prop_oneof![1usize..50, Just(4096 - 11), 3900usize..4200],
            1..12
        ),
    ];
    let padding = prop_oneof![Just(Padding::Fragment), Just(Padding::Pad)];
    (lengths, padding, 12u32..15, 0usize..3, 1u32..9).prop_map(
        |(lengths, padding, bits, form, number)| {
            let block_size = 1 << bits;
            match form {
                0 => dunlin(u64::from(number), block_size, padding, &lengths),
                1 => rocksdb(block::Form::Legacy, block_size, padding, &lengths),
                _ => rocksdb(
                    block::Form::Recyclable(number),
                    block_size,
                    padding,
                    &lengths,
                ),
            }
        },
    )
}

proptest! {
    #[test]
    fn a_whole_log_is_told_as_written(log in any_log(), reserved in 0usize..70_000) {
        let mut bytes = log.bytes.clone();
        bytes.resize(bytes.len() + reserved, 0);
        let told = inspect(&bytes, log.block_size_bytes);
        prop_assert_eq!(&told.payloads, &log.records);
        let ends: Vec<usize> = told.records().iter().map(|record| record.end as usize).collect();
        prop_assert_eq!(ends, log.ends);
        prop_assert_eq!(told.stat.verdict(), Verdict::Whole);
        prop_assert_eq!(told.layout.block_size_bytes, log.block_size_bytes);
        prop_assert_eq!(told.stat.settings, told.layout.settings);
        let said = told.layout.settings.map(|settings| settings.block_size_bytes);
        prop_assert_eq!(said, (told.layout.form == Form::Dunlin).then_some(log.block_size_bytes));
        // The tail of the last block may pass for a part of what is reserved.
        prop_assert!((told.end().unused_bytes as usize).abs_diff(reserved) <= 10, "{:?}", told.end());
    }

    #[test]
    fn a_cut_log_is_torn_where_a_record_was_cut_and_never_called_damaged(
        log in any_log(),
        at in any::<prop::sample::Index>(),
        named in any::<bool>(),
    ) {
        let cut = at.index(log.bytes.len());
        let Ok(told) = inspect_with(&log.bytes[..cut], &log.settings(named)) else {
            // Too little is left to know whose it is.
            prop_assert!(cut < 11, "{cut}");
            return Ok(());
        };
        let whole = log.ends.iter().filter(|end| **end <= cut).count();
        prop_assert_eq!(&told.payloads[..], &log.records[..whole]);
        let begun = inspect(&log.bytes, log.block_size_bytes)
            .records()
            .get(whole)
            .and_then(|record| log.bytes.get(record.offset as usize..cut))
            .is_some_and(|begun| begun.iter().any(|byte| *byte != 0));
        if begun {
            prop_assert_eq!(told.stat.verdict(), Verdict::Torn);
        } else {
            prop_assert_ne!(told.stat.verdict(), Verdict::Damaged);
        }
    }

    /// Whatever a flipped byte does, no record is made up, those before are all there, and it is
    /// noticed when it is in a record. (The number of the last record may pass for the end.)
    #[test]
    fn a_flipped_byte_never_makes_up_a_record(
        log in any_log(),
        at in any::<prop::sample::Index>(),
        bits in 1u8..=255,
        named in any::<bool>(),
    ) {
        let at = at.index(log.bytes.len());
        let mut bytes = log.bytes.clone();
        bytes[at] ^= bits;
        let told = match inspect_with(&bytes, &log.settings(named)) {
            Ok(told) => told,
            // Its only record is the damaged one.
            Err(InspectError::NotALog) => {
                prop_assert!(at < 11, "{at}");
                return Ok(());
            }
            Err(error) => panic!("{error}"),
        };
        let mut rest = &log.records[..];
        for payload in &told.payloads {
            let found = rest.iter().position(|record| record == payload);
            prop_assert!(found.is_some(), "made up or out of order");
            rest = &rest[found.unwrap() + 1..];
        }
        // A number damaged in the very first header makes all others strangers.
        if at < 11 {
            return Ok(());
        }
        let before = log.ends.iter().filter(|end| **end <= at).count();
        prop_assert_eq!(&told.payloads[..before], &log.records[..before]);
        let records = inspect(&log.bytes, log.block_size_bytes).records();
        let hit = records.get(before).is_some_and(|record| record.offset as usize <= at);
        if hit && before + 1 < records.len() {
            prop_assert_eq!(told.stat.verdict(), Verdict::Damaged, "{} {:?}", at, told.stat.damages);
        }
    }

    #[test]
    fn arbitrary_bytes_are_told_of_once_each(
        bytes in prop::collection::vec(any::<u8>(), 0..9000),
        number in any::<Option<u32>>(),
        behind in 0usize..200,
    ) {
        let settings = Settings { block_size_bytes: 4096, number, record_bytes_max: 100 };
        let _ = inspect_with(&bytes, &settings);
        // Behind a record, so that it passes for a log.
        let mut log = rocksdb(block::Form::Legacy, 4096, Padding::Fragment, &[behind]).bytes;
        log.extend(&bytes);
        inspect_with(&log, &settings).unwrap();
        let mut log = dunlin(3, 4096, Padding::Fragment, &[behind]).bytes;
        log.extend(&bytes);
        inspect_with(&log, &settings).unwrap();
    }

    /// Records whose checksums fit, of any type, in any order.
    #[test]
    fn any_sequence_of_types_is_told_of_once_each(
        records in prop::collection::vec((any::<u8>(), 0usize..600, any::<bool>()), 1..40),
        zeros in 0usize..5000,
        is_dunlin in any::<bool>(),
    ) {
        let mut bytes = if is_dunlin {
            dunlin(3, 4096, Padding::Pad, &[9]).bytes
        } else {
            physical(1, None, false, b"begin")
        };
        for (code, length, ours) in records {
            let code = if length % 2 == 0 { code % 12 } else { code };
            let payload = vec![code; length];
            let number = if ours { 3 } else { 4 };
            let next = match code {
                5..=8 | 11 | 131 => physical(code, Some(number), false, &payload),
                192.. => physical(code, Some(number), true, &payload),
                _ => physical(code, None, false, &payload),
            };
            let left = 4096 - bytes.len() % 4096;
            if left < next.len() {
                bytes.resize(bytes.len() + left, 0);
            }
            bytes.extend(next);
        }
        bytes.resize(bytes.len() + zeros, 0);
        inspect(&bytes, 4096);
    }

    /// What a recycled file held before is neither a record nor damage.
    #[test]
    fn an_earlier_life_is_the_end(
        old in prop::collection::vec(1usize..2500, 10..40),
        new in prop::collection::vec(1usize..2500, 1..10),
        is_dunlin in any::<bool>(),
    ) {
        let log = |number, lengths: &[usize]| {
            if is_dunlin {
                dunlin(number, 4096, Padding::Fragment, lengths)
            } else {
                rocksdb(block::Form::Recyclable(number as u32), 4096, Padding::Fragment, lengths)
            }
        };
        let mut bytes = log(8, &old).bytes;
        let mut new = log(9, &new);
        let written = new.bytes.len();
        if is_dunlin {
            // Every write ends with a zero header.
            let tail = written.next_multiple_of(4096) - written;
            new.bytes.resize(written + 11 + if tail < 11 { tail } else { 0 }, 0);
        }
        let length = new.bytes.len();
        if length < bytes.len() {
            bytes[..length].copy_from_slice(&new.bytes);
        } else {
            bytes.clone_from(&new.bytes);
        }
        let told = inspect(&bytes, 4096);
        prop_assert_eq!(&told.payloads, &new.records);
        // Fewer bytes than a header show no number: they may be a header cut off.
        let behind = bytes.len().saturating_sub(length);
        if (1..11).contains(&behind) || (1..11).contains(&(bytes.len() % 4096)) {
            prop_assert_ne!(told.stat.verdict(), Verdict::Damaged);
            return Ok(());
        }
        let damages = &told.stat.damages;
        prop_assert_eq!(told.stat.verdict(), Verdict::Whole, "{:?}", damages);
        // A block's tail behind the last record belongs to neither.
        prop_assert!(told.end().offset.abs_diff(written as u64) <= 10);
    }
}

#[test]
fn damage_in_the_middle_is_told_from_a_torn_end() {
    for log in [
        dunlin(5, 4096, Padding::Fragment, &[700; 30]),
        rocksdb(block::Form::Legacy, 4096, Padding::Fragment, &[700; 30]),
        rocksdb(
            block::Form::Recyclable(5),
            4096,
            Padding::Fragment,
            &[700; 30],
        ),
    ] {
        let mut middle = log.bytes.clone();
        middle[9000] ^= 1;
        let told = inspect(&middle, 4096);
        assert_eq!(told.stat.verdict(), Verdict::Damaged);
        let damage = told.stat.damages[0];
        assert!((8192..=9000).contains(&damage.offset), "{damage:?}");
        assert_eq!(damage.reason, Reason::Checksum);
        assert_eq!(damage.offset + damage.skipped_bytes, 12288);
        // It goes on in the next block.
        assert!(told.payloads.len() > 20 && told.payloads.last() == log.records.last());

        let mut end = log.bytes.clone();
        let last = end.len() - 3;
        end[last] ^= 1;
        let told = inspect(&end, 4096);
        assert_eq!(told.stat.verdict(), Verdict::Torn);
        assert_eq!(told.payloads.len(), 29);
    }
}

/// A log number is what makes a record: one flipped between others is damage, not the end.
#[test]
fn a_damaged_log_number_between_records_is_damage() {
    for log in [
        dunlin(5, 4096, Padding::Fragment, &[300; 60]),
        rocksdb(
            block::Form::Recyclable(5),
            4096,
            Padding::Fragment,
            &[300; 60],
        ),
    ] {
        for record in [3, 20, 40] {
            let mut bytes = log.bytes.clone();
            bytes[log.ends[record] + 8] ^= 64;
            let told = inspect(&bytes, 4096);
            assert_eq!(told.stat.verdict(), Verdict::Damaged, "{record}");
            assert!(told.payloads.len() > 45);
        }
        // A whole block of zeros, too.
        let mut bytes = log.bytes.clone();
        bytes[4096..8192].fill(0);
        assert_eq!(inspect(&bytes, 4096).stat.verdict(), Verdict::Damaged);
    }
}

#[test]
fn padding_is_counted_by_kind_and_to_the_byte() {
    // 3 x (7 + 1300) leave 175 bytes of 4096, and 4 x (7 + 1022) would leave -20.
    let log = rocksdb(block::Form::Legacy, 4096, Padding::Pad, &[1300; 7]);
    let stat = inspect(&log.bytes, 4096).stat;
    assert_eq!((stat.padded_bytes, stat.tail_bytes), (2 * 175, 0));
    assert_eq!(stat.fragments, [7, 0, 0, 0]);
    assert_eq!(stat.header_bytes, 7 * 7);

    // The same as a segment: 51 bytes of header, and a pad record begins each padding.
    let log = dunlin(1, 4096, Padding::Pad, &[1300; 4]);
    let stat = inspect(&log.bytes, 4096).stat;
    // 51, 2 x 1311, a mark of 19, and 1311 leave 93 bytes, of which the pad record takes 11.
    assert_eq!((stat.padded_bytes, stat.tail_bytes), (93 - 11, 0));
    assert_eq!((stat.own_records, stat.own_bytes), (3, 51 + 19 + 11));

    // A tail of five bytes.
    let log = rocksdb(
        block::Form::Legacy,
        4096,
        Padding::Fragment,
        &[4096 - 12, 9000],
    );
    let stat = inspect(&log.bytes, 4096).stat;
    assert_eq!((stat.padded_bytes, stat.tail_bytes), (0, 5));
    assert_eq!(stat.fragments, [1, 0, 1, 0]);
    assert_eq!(stat.fragmented_share(), 0.5);
    assert_eq!(stat.blocks, 4);
}

#[test]
fn a_block_size_above_the_length_field_splits_at_it() {
    let log = rocksdb(block::Form::Legacy, 1 << 20, Padding::Pad, &[200_000, 5]);
    let told = inspect(&log.bytes, 1 << 20);
    assert_eq!(told.payloads, log.records);
    assert_eq!(told.records()[0].fragments, 4);
    assert_eq!(told.stat.fragments, [1, 0, 0, 1]);
}

#[test]
fn more_than_the_limit_is_counted_but_not_kept() {
    let log = rocksdb(block::Form::Legacy, 4096, Padding::Fragment, &[100_000, 10]);
    let settings = Settings {
        block_size_bytes: 4096,
        record_bytes_max: 5000,
        ..Settings::default()
    };
    let told = inspect_with(&log.bytes, &settings).unwrap();
    assert_eq!(told.payloads[0], log.records[0][..5000]);
    assert_eq!(told.payloads[1], log.records[1]);
    let records = told.records();
    assert!(records[0].cut && records[0].payload_bytes == 100_000 && !records[1].cut);
}

#[test]
fn the_other_types_of_rocksdb_are_named_and_skipped() {
    let mut bytes = physical(9, None, false, &7u32.to_le_bytes());
    bytes.extend(physical(10, None, false, b"sizes"));
    bytes.extend(physical(130, None, false, b"before"));
    bytes.extend(physical(222, None, false, b"future"));
    bytes.extend(physical(5, Some(4), false, b"zstd"));
    bytes.extend(physical(11, Some(4), false, b"sizes"));
    bytes.extend(physical(131, Some(4), false, b"before"));
    let told = inspect(&bytes, 32 << 10);
    assert_eq!(told.payloads, [b"zstd"]);
    assert_eq!(told.records()[0].compression, Some(7));
    assert!(told.events.contains(&Event::Own(Own::Compression(Some(7)))));
    let names: Vec<&str> = told
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Physical(physical) => Some(physical.code.name(false)),
            _ => None,
        })
        .collect();
    assert_eq!(
        names,
        [
            "SET-COMPRESSION",
            "TIMESTAMP-SIZES",
            "PREDECESSOR",
            "IGNORABLE",
            "FULL",
            "TIMESTAMP-SIZES",
            "PREDECESSOR"
        ]
    );
    assert_eq!(told.stat.own_records, 6);
    assert_eq!(told.stat.verdict(), Verdict::Whole);

    // A type that must not be ignored is damage, but only itself.
    let mut bytes = physical(1, None, false, b"one");
    bytes.extend(physical(77, None, false, b"?"));
    bytes.extend(physical(1, None, false, b"two"));
    let told = inspect(&bytes, 32 << 10);
    assert_eq!(told.payloads, [b"one", b"two"]);
    assert_eq!(told.stat.damages[0].reason, Reason::Type(77));
    assert_eq!(told.stat.skipped_bytes, 8);
}

/// The payload of a batch of these records.
fn batch(compression: Compression, records: &[&[u8]]) -> Vec<u8> {
    let mut packer = Packer::new(compression).unwrap().unwrap();
    for record in records {
        packer.push(record);
    }
    packer.pack().unwrap().0.to_vec()
}

#[test]
fn compressed_batches_of_dunlin_are_pieced_together_by_their_own_types() {
    let records: [&[u8]; 3] = [&[7; 400], &[], &[8; 500]];
    let payload = batch(Compression::Zstd, &records);
    let mut bytes = dunlin(3, 4096, Padding::Fragment, &[10]).bytes;
    bytes.extend(physical(200, Some(3), true, &payload));
    for (code, part) in [
        (201, &payload[..10]),
        (202, &payload[10..11]),
        (203, &payload[11..]),
    ] {
        bytes.extend(physical(code, Some(3), true, part));
    }
    // A piece of the other kind does not go on with it.
    bytes.extend(physical(201, Some(3), true, b"begin"));
    bytes.extend(physical(8, Some(3), false, b"end"));
    bytes.extend(physical(5, Some(3), false, b"whole"));
    let told = inspect(&bytes, 4096);
    assert_eq!(told.payloads[1..3], [payload.clone(), payload.clone()]);
    assert_eq!(told.payloads[3], b"whole");
    assert_eq!(told.records()[2].fragments, 3);
    let head = CompressedBatch::parse(&payload).unwrap();
    let compressed_bytes = payload.len() as u64 - 9;
    assert_eq!(
        (head.count, head.raw_bytes, head.compressed_bytes),
        (3, 900 + 3 * 4, compressed_bytes)
    );
    assert_eq!((head.codec_name(), head.payload_bytes()), ("zstd", 900));
    assert_eq!(told.batched, [records, records].concat());
    let stat = &told.stat;
    assert_eq!(stat.verdict(), Verdict::Damaged);
    assert_eq!((stat.compressed_batches, stat.batched_records), (2, 6));
    assert_eq!(stat.records, 8);
    assert_eq!(stat.fragments, [3, 0, 1, 0]);
    assert_eq!(stat.batch_raw_bytes, 1800);
    assert_eq!(stat.batch_compressed_bytes, 2 * payload.len() as u64);
    assert_eq!(
        stat.write_amplification(),
        Some(stat.used_bytes as f64 / (10 + 1800 + 5) as f64)
    );
}

/// Write batches are counted where they are batched, too.
#[test]
fn what_is_in_a_batch_counts_as_what_is_not() {
    let mut put = 1u64.to_le_bytes().to_vec();
    put.extend(1u32.to_le_bytes());
    put.extend(b"\x01\x03key\x64");
    put.extend([b'v'; 100]);
    let mut bytes = dunlin(3, 4096, Padding::Fragment, &[]).bytes;
    let payload = batch(Compression::Lz4, &[&put, &put, &put]);
    bytes.extend(physical(200, Some(3), true, &payload));
    bytes.extend(physical(5, Some(3), false, &put));
    let stat = inspect(&bytes, 4096).stat;
    assert_eq!((stat.records, stat.batched_records), (4, 3));
    let batches = stat.batches;
    assert_eq!((batches.batches, batches.operations), (4, 4));
    assert_eq!((batches.key_bytes, batches.value_bytes), (12, 400));
    assert!(stat.user_amplification().is_some());
}

/// Its checksums fit, but opening the log would refuse it.
#[test]
fn a_batch_that_does_not_hold_what_it_says_is_damage() {
    let good = batch(Compression::Lz4, &[&[7; 400], &[8; 400]]);
    let mut count = good.clone();
    count[1] += 1;
    let mut codec = good.clone();
    codec[0] = 9;
    for payload in [count, codec, good[..8].to_vec(), good[..20].to_vec()] {
        let mut bytes = dunlin(3, 4096, Padding::Fragment, &[10]).bytes;
        let offset = bytes.len() as u64;
        bytes.extend(physical(200, Some(3), true, &payload));
        let told = inspect(&bytes, 4096);
        let wanted = Damage {
            offset,
            skipped_bytes: 0,
            lost_bytes: payload.len() as u64,
            records_skipped: false,
            reason: Reason::Batch,
        };
        assert_eq!(told.stat.damages, [wanted]);
        // Nothing follows, so that a start would cut it.
        assert_eq!(told.stat.verdict(), Verdict::Torn);
        assert_eq!((told.stat.records, told.stat.compressed_batches), (1, 0));
        bytes.extend(physical(200, Some(3), true, &good));
        let told = inspect(&bytes, 4096);
        assert_eq!(told.stat.verdict(), Verdict::Damaged);
        assert_eq!((told.stat.records, told.stat.compressed_batches), (3, 1));
        assert_eq!(told.batched, [vec![7; 400], vec![8; 400]]);
    }
}

/// Of a batch that is not kept whole only the head is known.
#[test]
fn a_batch_larger_than_what_is_kept_is_counted_by_its_head() {
    let payload = batch(Compression::Lz4, &[&[7; 400], &[8; 400]]);
    let mut bytes = dunlin(3, 4096, Padding::Fragment, &[]).bytes;
    for (code, part) in [(201, &payload[..12]), (203, &payload[12..])] {
        bytes.extend(physical(code, Some(3), true, part));
    }
    let settings = Settings {
        block_size_bytes: 4096,
        record_bytes_max: 10,
        ..Settings::default()
    };
    let told = inspect_with(&bytes, &settings).unwrap();
    assert!(told.records()[0].cut && told.batched.is_empty());
    assert_eq!((told.stat.records, told.stat.batch_raw_bytes), (2, 800));
    assert_eq!(told.stat.verdict(), Verdict::Whole);
}

#[test]
fn what_is_no_log_is_said_to_be_none() {
    let refused = |bytes: &[u8]| {
        inspect_with(bytes, &Settings::default())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(refused(b""), "the file is empty");
    let none = "not a log: no record of Dunlin, RocksDB or LevelDB at its beginning";
    assert_eq!(refused(b"a line of text, and some more of it\n"), none);
    assert_eq!(refused(b"abc"), none);
    assert_eq!(refused(&[0xff; 5000]), none);
    let settings = Settings {
        block_size_bytes: 5000,
        ..Settings::default()
    };
    let error = inspect_with(b"x", &settings).unwrap_err();
    assert!(matches!(error, InspectError::BlockSize(5000)));
    // Reserved room in which nothing was written yet.
    let told = inspect(&[0; 70_000], 32 << 10);
    assert_eq!((told.end().offset, told.end().rest), (0, Rest::Zeros));
}

/// The file was renamed for a new log, and nothing was written to it before the crash.
#[test]
fn the_number_of_the_name_decides_whose_records_they_are() {
    let log = rocksdb(
        block::Form::Recyclable(4),
        4096,
        Padding::Fragment,
        &[500; 20],
    );
    let named = |number| {
        let settings = Settings {
            block_size_bytes: 4096,
            number,
            ..Settings::default()
        };
        inspect_with(&log.bytes, &settings).unwrap()
    };
    assert_eq!(named(Some(4)).payloads.len(), 20);
    assert_eq!(named(None).payloads.len(), 20);
    let told = named(Some(9));
    assert_eq!(told.payloads.len(), 0);
    assert_eq!(told.end().rest, Rest::Stale { number: Some(4) });
    assert_eq!(told.stat.verdict(), Verdict::Whole);
}
