#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::wal::audit;
use crate::wal::entry::Entry;
use crate::wal::layout::Header;

const ENTRY: Entry = Entry {
    key_bytes: 16,
    value_bytes: 64,
};

fn write_file(path: &Path, policy: Policy) -> Result<f64, BenchError> {
    let encoder = PatchEncoder::new(8192, policy);
    let mut source = Source::new(ENTRY, 1);
    write(path, encoder, &mut source, 500, &Interrupt::default())
}

/// Of the paper's table: k16v64 has 32 bytes of padding in 8 KiB (102 bytes, 80 records a block).
#[test]
fn the_patch_makes_the_papers_padding() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    write_file(&path, Policy::Patch).unwrap();
    let counts = audit::count(&path, 8192, Header::Legacy).unwrap();
    assert_eq!(counts.records, 500);
    assert_eq!(counts.records_split, 0);
    assert_eq!(counts.padding_bytes, 500 / 80 * 32);
    assert_eq!(ENTRY.paper_padding_bytes(8192), 32);
    // Over a longer file, stock: nothing is left of the first.
    write_file(&path, Policy::Fragment).unwrap();
    let counts = audit::count(&path, 8192, Header::Legacy).unwrap();
    // Block ends that no header fits in, and nothing else.
    assert!(counts.padding_bytes < 7 * (counts.file_bytes / 8192));
    assert!(counts.records_split > 0);
    assert_eq!(counts.fragments, 500 + counts.records_split);
}

#[test]
fn stock_is_the_encoder_alone() {
    let mut ours = Vec::new();
    let mut stock = Vec::new();
    let mut patch = PatchEncoder::new(4096, Policy::Fragment);
    let mut encoder = Encoder::new(4096, dunlin_log::Padding::Fragment, Form::Legacy, 0);
    for length in [1, 4_000, 70, 9_000, 0, 4_082, 5] {
        patch.record(&vec![7; length], &mut ours);
        encoder.record(&vec![7; length], &mut stock);
    }
    assert_eq!(ours, stock);
}
