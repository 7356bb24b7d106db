#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

fn layout(block_bytes: u32, policy: Policy, payloads: &[u64]) -> Counts {
    let mut layout = Layout::new(block_bytes, policy, Header::Legacy);
    for &payload in payloads {
        layout.record(payload);
    }
    layout.counts()
}

#[test]
fn a_record_that_does_not_fit_is_split_or_moved() {
    let fragment = layout(4096, Policy::Fragment, &[3000, 3000]);
    assert_eq!(fragment.file_bytes, 3007 + 3007 + 7);
    assert_eq!((fragment.fragments, fragment.records_split), (3, 1));
    assert_eq!(fragment.padding_bytes, 0);
    let pad = layout(4096, Policy::Pad, &[3000, 3000]);
    assert_eq!(pad.file_bytes, 4096 + 3007);
    assert_eq!(pad.padding_bytes, 4096 - 3007);
    assert_eq!((pad.fragments, pad.records_split), (2, 0));
}

#[test]
fn the_patch_forgets_the_header_and_pads_before_large_records() {
    // 1085 bytes are left: enough for the payload but not for its header.
    let counts = layout(4096, Policy::Patch, &[3004, 1083]);
    assert_eq!((counts.padding_bytes, counts.records_split), (0, 1));
    let counts = layout(4096, Policy::Pad, &[3004, 1083]);
    assert_eq!((counts.padding_bytes, counts.records_split), (1085, 0));
    // Larger than a block: nothing is won by a new one.
    let counts = layout(4096, Policy::Patch, &[100, 5000]);
    assert_eq!(counts.padding_bytes, 4096 - 107);
    assert_eq!(layout(4096, Policy::Pad, &[100, 5000]).padding_bytes, 0);
}

#[test]
fn tails_too_small_for_a_header_are_padding_under_every_policy() {
    for policy in [Policy::Fragment, Policy::Pad, Policy::Patch] {
        let counts = layout(4096, policy, &[4096 - 7 - 6, 10]);
        assert_eq!(counts.padding_bytes, 6);
        assert_eq!(counts.fragments, 2);
        // Exactly a header: an empty first fragment, but for those who pad.
        let counts = layout(4096, policy, &[4096 - 7 - 7, 10]);
        let padded = policy != Policy::Fragment;
        assert_eq!(counts.padding_bytes, if padded { 7 } else { 0 });
        assert_eq!(counts.fragments, if padded { 2 } else { 3 });
    }
}

#[test]
fn the_sum_is_the_file_and_a_fragment_has_sixteen_bits_of_length() {
    let header = 11 + SEGMENT_HEADER_LENGTH as u64;
    let mut layout = Layout::segment(128 << 10, Policy::Pad);
    assert_eq!(layout.counts().file_bytes, header + 11);
    layout.record(70_000);
    layout.record(70_000);
    layout.sync_mark();
    let counts = layout.counts();
    assert_eq!((counts.fragments, counts.records), (5, 3));
    assert_eq!(counts.own_bytes, header + 19);
    assert_eq!(
        counts.file_bytes,
        counts.payload_bytes + counts.header_bytes + counts.padding_bytes + counts.own_bytes
    );
    assert_eq!(counts.padding_bytes, (128 << 10) - header - 11 - 70_022);
}
