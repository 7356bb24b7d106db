//! Databases to copy, and a scan that shares no code with the copying.

// Each test binary compiles its own copy and uses a part of it.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dunlin_copy::{CopyError, Outcome, Settings, Target, Watch};
use rocksdb::{DB, IteratorMode, Options};

/// Everything in a database, by column family.
pub type Content = BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>;

/// Reads all of it.
pub fn content(path: &Path) -> Content {
    let options = Options::default();
    let names = DB::list_cf(&options, path).unwrap();
    let db = DB::open_cf_for_read_only(&options, path, &names, false).unwrap();
    let family = |name: &String| {
        let handle = db.cf_handle(name).unwrap();
        let pairs = db.iterator_cf(handle, IteratorMode::Start);
        let pairs = pairs.map(|pair| pair.unwrap());
        pairs
            .map(|(key, value)| (key.into_vec(), value.into_vec()))
            .collect()
    };
    names
        .iter()
        .map(|name| (name.clone(), family(name)))
        .collect()
}

/// Bytes that do not compress, the same for the same seed.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        bytes.extend_from_slice(&state.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// A database with several column families, tables in several levels, overwritten and deleted
/// keys, an empty key, empty values, and pairs that only its log holds.
pub fn various(path: &Path, pairs: u64) {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_write_buffer_size(256 << 10);
    options.set_target_file_size_base(256 << 10);
    options.set_compression_type(rocksdb::DBCompressionType::Zstd);
    let names = ["default", "birds", "empty", "schwärme"];
    let db = DB::open_cf(&options, path, names).unwrap();
    for name in ["default", "birds", "schwärme"] {
        let family = db.cf_handle(name).unwrap();
        let key = |number: u64| format!("{name}/{:08}", number * 7919 % (pairs * 2)).into_bytes();
        for number in 0..pairs {
            db.put_cf(
                family,
                key(number),
                noise(number, 100 + number as usize % 50),
            )
            .unwrap();
        }
        for number in (0..pairs).step_by(3) {
            db.delete_cf(family, key(number)).unwrap();
        }
        db.flush_cf(family).unwrap();
        for number in (0..pairs).step_by(5) {
            db.put_cf(family, key(number), noise(!number, 10)).unwrap();
        }
        if name == "birds" {
            db.delete_range_cf(family, b"birds/00000100", b"birds/00000300")
                .unwrap();
            db.compact_range_cf(family, None::<&[u8]>, None::<&[u8]>);
        }
        db.put_cf(family, b"", b"value of the empty key").unwrap();
        db.put_cf(family, b"\xff\xff\xff\xff", b"").unwrap();
    }
    // Dropped without a flush: the last of it is in the log.
}

/// What the tests' small databases are copied with: many units, several connections.
pub fn settings(source: &Path, target: &Path) -> Settings {
    Settings {
        range_bytes: Some(64 << 10),
        connections: 3,
        ..Settings::new(
            source.to_path_buf(),
            Target::Directory(target.to_path_buf()),
        )
    }
}

/// Copies.
pub fn copy(settings: &Settings) -> Result<Outcome, CopyError> {
    dunlin_copy::copy(settings, &Watch::default())
}

/// The paths of a source and a target in a directory of their own.
pub fn places() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let (source, target) = (
        directory.path().join("source"),
        directory.path().join("target"),
    );
    (directory, source, target)
}

/// Nothing but `names` is in a directory.
pub fn assert_left(directory: &Path, names: &[&str]) {
    let mut left: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    left.sort();
    assert_eq!(left, names);
}
