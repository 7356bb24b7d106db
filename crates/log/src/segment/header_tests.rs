#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;

fn header() -> SegmentHeader {
    SegmentHeader {
        number: 7,
        first_index: 1 << 40,
        block_size_bytes: 1 << 20,
        padding: Padding::Pad,
        previous_synced: true,
        previous_length: 12_345,
        compression: Compression::Zstd,
        direct_io: true,
    }
}

#[test]
fn it_is_read_as_it_was_written() {
    for header in [
        header(),
        SegmentHeader {
            padding: Padding::Fragment,
            previous_synced: false,
            compression: Compression::Lz4,
            direct_io: false,
            ..header()
        },
        SegmentHeader {
            compression: Compression::None,
            ..header()
        },
    ] {
        assert_eq!(SegmentHeader::decode(&header.encode()), Ok(header));
    }
}

#[test]
fn what_this_version_does_not_know_is_refused_and_named() {
    let whole = header().encode();
    let with = |at: usize, byte: u8| {
        let mut bytes = whole;
        bytes[at] = byte;
        SegmentHeader::decode(&bytes).unwrap_err()
    };
    // Version 1 was two bytes shorter.
    let mut first = whole[..38].to_vec();
    first[7] = 1;
    let reason = SegmentHeader::decode(&first).unwrap_err();
    assert!(reason.starts_with("format version 1"), "{reason}");
    assert!(with(7, 3).contains("version"));
    assert_eq!(with(0, b'd'), "another magic");
    assert_eq!(with(24, 1), "impossible block size");
    assert_eq!(with(15, 0xff), "impossible segment number");
    assert_eq!(with(23, 0xff), "impossible first index");
    for (field, reason) in [
        (8, "impossible segment number"),
        (16, "impossible first index"),
    ] {
        let mut zero = whole;
        zero[field..field + 8].fill(0);
        assert_eq!(SegmentHeader::decode(&zero), Err(reason));
    }
    assert_eq!(with(28, 2), "unknown padding");
    assert_eq!(with(38, 3), "unknown compression");
    assert_eq!(
        SegmentHeader::decode(&whole[..39]),
        Err("header of another length")
    );
}
