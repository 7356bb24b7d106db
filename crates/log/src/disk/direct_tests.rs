#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::{disk::Disk, sim::SimDisk};
use proptest::prelude::*;
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

fn path() -> &'static Path {
    Path::new("/log/file")
}

/// A file of zeros on a disk that refuses what is not aligned.
fn disk(length: u64) -> SimDisk {
    let disk = SimDisk::new(1);
    let file = disk.open(path(), true).unwrap();
    file.allocate(length).unwrap();
    file.sync().unwrap();
    disk.sync_dir(path().parent().unwrap()).unwrap();
    disk
}

/// What a file that knows nothing of pages holds after the same writes.
fn model_write(model: &mut Vec<u8>, bytes: &[u8], offset: usize) {
    let end = offset + bytes.len();
    model.resize(model.len().max(end), 0);
    model[offset..end].copy_from_slice(bytes);
    let behind = end.next_multiple_of(PAGE).min(model.len());
    model[end..behind].fill(0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn it_holds_what_an_ordinary_file_holds(
        length in 0usize..20_000,
        writes in prop::collection::vec(
            (prop_oneof![6 => Just(None), 1 => (0usize..30_000).prop_map(Some)], 1usize..9000), 1..20),
        again in any::<bool>(),
    ) {
        let disk = disk(length as u64);
        let mut file = disk.open_direct(path()).unwrap().unwrap();
        let mut model = vec![0; length];
        let mut at = 0;
        for (number, (jump, length)) in writes.into_iter().enumerate() {
            let offset = jump.unwrap_or(at);
            let bytes = vec![number as u8 + 1; length];
            file.write_at(&bytes, offset as u64).unwrap();
            model_write(&mut model, &bytes, offset);
            at = offset + length;
            prop_assert_eq!(file.len().unwrap(), model.len() as u64);
            prop_assert_eq!(&disk.contents(path()).unwrap(), &model);
            if again && number % 3 == 0 {
                file = disk.open_direct(path()).unwrap().unwrap();
            }
            let mut read = vec![0; 5000];
            let from = offset.saturating_sub(1000);
            let count = file.read_at(&mut read, from as u64).unwrap();
            prop_assert_eq!(&read[..count], &model[from..model.len().min(from + 5000)]);
        }
    }

    /// Bytes that were synced survive every crash, though their page is written again and again.
    #[test]
    fn what_was_synced_survives_the_rewriting_of_its_page(
        seed in any::<u64>(), lengths in prop::collection::vec(1usize..3000, 1..12), synced in 0usize..12,
    ) {
        let disk = SimDisk::new(seed);
        disk.open(path(), true).unwrap().allocate(64 << 10).unwrap();
        disk.sync_dir(path().parent().unwrap()).unwrap();
        let file = disk.open_direct(path()).unwrap().unwrap();
        let (mut at, mut safe) = (0, 0);
        for (number, length) in lengths.into_iter().enumerate() {
            file.write_at(&vec![number as u8 + 1; length], at).unwrap();
            at += length as u64;
            if number <= synced {
                file.sync().unwrap();
                safe = at as usize;
            }
        }
        let before = disk.contents(path()).unwrap();
        disk.crash();
        let after = disk.contents(path()).unwrap();
        prop_assert_eq!(&after[..safe], &before[..safe]);
    }
}

/// Counts the reads that reach the disk.
struct Counted {
    file: Arc<dyn DiskFile>,
    reads: Arc<AtomicUsize>,
}

impl DiskFile for Counted {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.file.read_at(buffer, offset)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_at(bytes, offset)
    }
    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }
    fn allocate(&self, len: u64) -> io::Result<()> {
        self.file.allocate(len)
    }
}

#[test]
fn appending_never_reads() {
    let disk = disk(4 << 20);
    let reads = Arc::new(AtomicUsize::new(0));
    let file = DirectFile::new(Counted {
        file: disk.open(path(), false).unwrap(),
        reads: Arc::clone(&reads),
    })
    .unwrap();
    // That it may be read at all was tried.
    assert_eq!(reads.swap(0, Ordering::Relaxed), 1);
    let mut at = 0;
    for number in 0..2000u64 {
        let length = 1 + number * 7919 % 1500;
        // With the log's zero header behind it, which the next write overwrites.
        file.write_at(&vec![1; length as usize + 11], at).unwrap();
        at += length;
    }
    assert_eq!(reads.load(Ordering::Relaxed), 0);
    // One that begins in a page it has not written does, once.
    let file = DirectFile::new(Counted {
        file: disk.open(path(), false).unwrap(),
        reads: Arc::clone(&reads),
    })
    .unwrap();
    reads.store(0, Ordering::Relaxed);
    for _ in 0..10 {
        file.write_at(&[2; 100], at).unwrap();
        at += 100;
    }
    assert_eq!(reads.load(Ordering::Relaxed), 1);
}

#[test]
fn a_failed_write_is_repeated_without_its_traces() {
    let disk = disk(64 << 10);
    let file = disk.open_direct(path()).unwrap().unwrap();
    file.write_at(&[1; 3000], 0).unwrap();
    disk.fail_write(0);
    assert!(file.write_at(&[2; 3000], 3000).is_err());
    file.write_at(&[3; 500], 3000).unwrap();
    let bytes = disk.contents(path()).unwrap();
    assert!(bytes[..3000].iter().all(|&byte| byte == 1));
    assert!(bytes[3000..3500].iter().all(|&byte| byte == 3));
    assert!(bytes[3500..].iter().all(|&byte| byte == 0));
}

#[test]
fn a_file_system_that_refuses_is_none_and_a_missing_file_an_error() {
    let disk = disk(100);
    disk.allow_direct(false);
    assert!(disk.open_direct(path()).unwrap().is_none());
    disk.allow_direct(true);
    assert!(disk.open_direct(path()).unwrap().is_some());
    let missing = disk.open_direct(Path::new("/log/none"));
    assert_eq!(missing.err().unwrap().kind(), io::ErrorKind::NotFound);
}
