#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

fn entry(key_bytes: usize, value_bytes: usize) -> Entry {
    Entry {
        key_bytes,
        value_bytes,
    }
}

#[test]
fn the_papers_padding_table() {
    // Cells of its three pages, smaller and larger than a block.
    for (key, value, block, padding) in [
        (16, 128, 8192, 58),
        (256, 128, 8192, 72),
        (1024, 1024, 8192, 1982),
        (1024, 6144, 8192, 1002),
        (1024, 6144, 16_384, 2004),
        (16, 8192, 8192, 8154),
        (256, 1024, 16_384, 760),
        (16, 8192, 16_384, 8154),
        (16, 16, 16_384, 22),
        (128, 128, 32_768, 242),
        (256, 16, 32_768, 134),
        (16, 256, 32_768, 134),
        (256, 32, 32_768, 218),
    ] {
        assert_eq!(
            entry(key, value).paper_padding_bytes(block),
            padding,
            "k{key}v{value} in {block}"
        );
    }
}

#[test]
fn a_record_is_the_papers_or_one_or_two_bytes_longer() {
    for (key, value, more) in [(16, 16, 0), (16, 127, 0), (16, 128, 1), (1024, 8192, 2)] {
        let entry = entry(key, value);
        assert_eq!(7 + entry.payload_bytes(), entry.paper_record_bytes() + more);
    }
    assert_eq!(varint_bytes(16_383), 2);
    assert_eq!(varint_bytes(16_384), 3);
    assert_eq!(varint_bytes(0), 1);
}

#[test]
fn batches_are_rocksdbs() {
    let mut source = Source::new(entry(16, 300), 1);
    let first = source.next_payload();
    let second = source.next_payload();
    assert_eq!(first.len(), entry(16, 300).payload_bytes());
    assert_eq!(first[..8], 1u64.to_le_bytes());
    assert_eq!(second[..8], 2u64.to_le_bytes());
    assert_eq!(first[8..13], [1, 0, 0, 0, TAG_PUT]);
    assert_eq!(first[13], 16);
    assert_eq!(&first[22..30], b"00000000");
    assert_eq!(first[30..32], [0xac, 0x02]);
    assert_ne!(first[14..22], second[14..22]);
    assert_ne!(first[32..], second[32..]);
}

#[test]
fn seeds_replay_and_forks_differ() {
    let of = |seed| Source::new(entry(16, 64), seed).next_payload();
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
    let source = Source::new(entry(16, 64), 1);
    assert_eq!(source.fork(1).next_payload(), source.fork(1).next_payload());
    assert_ne!(source.fork(1).next_payload(), source.fork(2).next_payload());
}
