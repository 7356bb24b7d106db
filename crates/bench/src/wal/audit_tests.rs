#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::wal::layout::{Layout, Policy};
use crate::wal::patch::PatchEncoder;
use proptest::prelude::*;

const BLOCKS: [u32; 6] = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10];

fn written(bytes: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    file
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    /// Whatever is written in the paper's form, the arithmetic, the encoder and the file agree.
    #[test]
    fn legacy_files_are_as_predicted(
        block in prop::sample::select(&BLOCKS[..]),
        policy in prop::sample::select(&[Policy::Fragment, Policy::Pad, Policy::Patch][..]),
        lengths in prop::collection::vec(prop_oneof![0usize..300, 0usize..9_300, 60_000usize..140_000], 1..40),
    ) {
        let mut encoder = PatchEncoder::new(block, policy);
        let mut layout = Layout::new(block, policy, Header::Legacy);
        let mut bytes = Vec::new();
        for &length in &lengths {
            encoder.record(&vec![0x5a; length], &mut bytes);
            let (_, end) = layout.record(length as u64);
            prop_assert_eq!(end, bytes.len() as u64);
        }
        let file = written(&bytes);
        prop_assert_eq!(count(file.path(), block, Header::Legacy).unwrap(), layout.counts());
        // The checksums are right, so a flipped bit is seen; in padding, that it is no zero.
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
        let file = written(&bytes);
        prop_assert!(count(file.path(), block, Header::Legacy).ok() != Some(layout.counts()));
    }
}

#[test]
fn what_is_no_record_is_said_with_its_offset() {
    let mut bytes = Vec::new();
    let mut encoder = PatchEncoder::new(4096, Policy::Fragment);
    encoder.record(&[1; 5_000], &mut bytes);
    bytes[4_100] ^= 1;
    let error = count(written(&bytes).path(), 4096, Header::Legacy).unwrap_err();
    assert!(
        error.to_string().ends_with("no record at offset 4096"),
        "{error}"
    );
}
