#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::{
    block::{Encoder, Form},
    disk::Disk,
    options::Padding,
    sim::SimDisk,
};
use std::path::Path;

fn file(bytes: &[u8]) -> Arc<dyn DiskFile> {
    let file = SimDisk::new(1).open(Path::new("/file"), true).unwrap();
    file.write_at(bytes, 0).unwrap();
    file
}

/// Everything up to the limit, by either way.
fn payloads(scanner: &mut Scanner) -> Vec<Bytes> {
    let mut payloads = Vec::new();
    loop {
        if let Some(range) = scanner.full() {
            payloads.push(scanner.shared(range));
            continue;
        }
        match scanner.step().unwrap() {
            Step::Physical { payload, .. } => payloads.push(scanner.shared(payload)),
            Step::End { .. } | Step::Invalid { .. } => return payloads,
        }
    }
}

#[test]
fn a_limit_may_be_anywhere_and_move_on() {
    let mut encoder = Encoder::new(4096, Padding::Fragment, Form::Recyclable(1), 0);
    let mut bytes = Vec::new();
    for length in [100, 3950, 10, 5000, 0, 7] {
        encoder.record(&vec![length as u8; length], &mut bytes);
    }
    let whole = payloads(&mut Scanner::new(file(&bytes), 1, 4096, u64::MAX));
    assert!(whole.len() > 6, "some in pieces");
    for limit in 0..bytes.len() as u64 {
        let mut scanner = Scanner::new(file(&bytes), 1, 4096, limit);
        let mut read = payloads(&mut scanner);
        assert!(read == whole[..read.len()] && scanner.offset() <= limit);
        scanner.set_limit(bytes.len() as u64);
        read.extend(payloads(&mut scanner));
        assert!(read == whole, "{limit}");
    }
}

/// What was handed out stays as it is; what was not is read into again.
#[test]
fn memory_is_used_again_unless_somebody_has_it() {
    let mut encoder = Encoder::new(4096, Padding::Fragment, Form::Recyclable(1), 0);
    let mut bytes = Vec::new();
    for number in 0..4000_u32 {
        encoder.record(&number.to_le_bytes().repeat(50), &mut bytes);
    }
    assert!(bytes.len() > 2 * CHUNK);
    let wanted = payloads(&mut Scanner::new(file(&bytes), 1, 4096, u64::MAX));
    let joined: Vec<u8> = wanted.iter().flatten().copied().collect();
    let written = (0..4000_u32).flat_map(|number| number.to_le_bytes().repeat(50));
    assert!(joined.into_iter().eq(written));
    let mut scanner = Scanner::new(file(&bytes), 1, 4096, u64::MAX);
    let mut memory = std::collections::BTreeSet::new();
    let mut read = 0;
    while let Step::Physical { payload, .. } = scanner.step().unwrap() {
        assert_eq!(scanner.payload(payload), wanted[read]);
        read += 1;
        memory.insert(scanner.chunk.as_ptr());
    }
    assert_eq!(read, wanted.len());
    assert_eq!(memory.len(), 1);
}
