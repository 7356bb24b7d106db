//! A damaged byte is found before it is served, and its file is named.

use std::fs;
use std::ops::Bound;
use std::path::Path;

use crate::common::*;
use dunlin_store::{Store, StoreError, Tier};

fn value(n: usize) -> String {
    // Not compressible, so that the blocks are full of it.
    let mut state = n as u64 + 1;
    (0..200)
        .map(|_| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            char::from(b'a' + (state >> 33) as u8 % 26)
        })
        .collect()
}

/// A store of one table file, closed.
fn build(dir: &Path) {
    let store = open(dir);
    let entries: Vec<_> = (0..500)
        .map(|n| put(&format!("key {n:04}"), &value(n), stamp(n as u64 + 1, 1)))
        .collect();
    store.apply(&entries, 500).unwrap();
    store.close().unwrap();
}

fn flip(file: &Path, at: usize) {
    let mut bytes = fs::read(file).unwrap();
    bytes[at] ^= 0x10;
    fs::write(file, bytes).unwrap();
}

/// The larger of the tables is the data's; the other is the meta column family's.
fn data_table(dir: &Path) -> std::path::PathBuf {
    tables(dir)
        .into_iter()
        .max_by_key(|file| fs::metadata(file).unwrap().len())
        .unwrap()
}

fn reopen(dir: &Path) -> Result<Store, StoreError> {
    Store::open(dir, &options(&TestClock::default(), None))
}

#[track_caller]
fn assert_names(error: StoreError, expected: &Path) {
    match error {
        StoreError::Damaged { file, .. } => assert_eq!(file, expected),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_flipped_byte_anywhere_in_a_table_is_never_served() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path());
    let table = data_table(dir.path());
    let clean = fs::read(&table).unwrap();
    let mut refused = 0;
    let mut found_by_verify = 0;
    let steps = 23;
    for step in 0..steps {
        let at = step * (clean.len() - 1) / (steps - 1);
        flip(&table, at);
        match reopen(dir.path()) {
            Err(error) => {
                assert_names(error, &table);
                refused += 1;
            }
            Ok(store) => {
                // Reads first: what they say must be the truth or an error.
                for n in 0..500 {
                    let key = format!("key {n:04}");
                    match store.get(KEYSPACE, 0, key.as_bytes(), Tier::Disk) {
                        Ok(dunlin_store::Lookup::Value(held)) => assert_eq!(held.value, value(n)),
                        Ok(other) => panic!("{other:?} for {key} with a flip at {at}"),
                        Err(error) => {
                            assert_names(error, &table);
                            refused += 1;
                            break;
                        }
                    }
                }
                if let Err(error) = store.verify() {
                    assert_names(error, &table);
                    found_by_verify += 1;
                }
            }
        }
        fs::write(&table, &clean).unwrap();
    }
    // Data blocks are nearly all of the file.
    assert!(refused >= steps * 8 / 10, "{refused} of {steps}");
    assert!(
        found_by_verify >= steps * 8 / 10,
        "{found_by_verify} of {steps}"
    );
    assert_eq!(reopen(dir.path()).unwrap().verify().unwrap(), 500);
}

#[test]
fn verify_reads_past_the_cache() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path());
    let store = reopen(dir.path()).unwrap();
    let all = |store: &Store| {
        store.scan_page(
            KEYSPACE,
            0,
            Bound::Unbounded,
            Bound::Unbounded,
            1000,
            1 << 20,
            None,
        )
    };
    assert_eq!(all(&store).unwrap().items.len(), 500);
    let table = data_table(dir.path());
    // In place: the store holds the file open.
    let clean = fs::read(&table).unwrap();
    let mut bytes = clean.clone();
    bytes[clean.len() / 2] ^= 1;
    fs::write(&table, &bytes).unwrap();
    assert_names(store.verify().unwrap_err(), &table);
    fs::write(&table, &clean).unwrap();
    assert_eq!(store.verify().unwrap(), 500);
}

#[test]
fn scans_merges_and_digests_report_damage() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path());
    let table = data_table(dir.path());
    flip(&table, fs::metadata(&table).unwrap().len() as usize / 2);
    let store = reopen(dir.path()).unwrap();
    let page = store.scan_page(
        KEYSPACE,
        0,
        Bound::Unbounded,
        Bound::Unbounded,
        1000,
        1 << 20,
        None,
    );
    assert_names(page.unwrap_err(), &table);
    assert_names(store.digest(KEYSPACE, 0).unwrap_err(), &table);
    let mut merge = store
        .merge(KEYSPACE, None, Bound::Unbounded, Bound::Unbounded)
        .unwrap();
    assert_names(merge.page(1000, 1 << 20).unwrap_err(), &table);
}

#[test]
fn a_missing_table_refuses_to_open() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path());
    let table = data_table(dir.path());
    fs::remove_file(&table).unwrap();
    assert_names(reopen(dir.path()).err().unwrap(), &table);
}

#[test]
fn a_shortened_table_refuses_to_open() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path());
    let table = data_table(dir.path());
    let bytes = fs::read(&table).unwrap();
    fs::write(&table, &bytes[..bytes.len() - 1000]).unwrap();
    assert_names(reopen(dir.path()).err().unwrap(), &table);
}

#[test]
fn a_damaged_manifest_refuses_to_open() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path());
    let current = fs::read_to_string(dir.path().join("CURRENT")).unwrap();
    let manifest = dir.path().join(current.trim());
    let clean = fs::read(&manifest).unwrap();
    for at in [9, clean.len() / 2, clean.len() - 9] {
        flip(&manifest, at);
        match reopen(dir.path()) {
            Err(StoreError::Damaged { .. }) => {}
            Err(other) => panic!("{other:?} for a flip at {at}"),
            Ok(store) => panic!("opened at {} with a flip at {at}", store.applied()),
        }
        fs::write(&manifest, &clean).unwrap();
    }
    reopen(dir.path()).unwrap();
}

#[test]
fn a_lost_current_file_does_not_pass_for_an_empty_store() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path());
    fs::remove_file(dir.path().join("CURRENT")).unwrap();
    assert_names(
        reopen(dir.path()).err().unwrap(),
        &dir.path().join("CURRENT"),
    );
    assert!(!tables(dir.path()).is_empty());
}

#[test]
fn another_format_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path());
    {
        let mut options = rocksdb::Options::default();
        options.set_atomic_flush(true);
        let db = rocksdb::DB::open_cf(&options, dir.path(), ["default", "meta", "expiry"]).unwrap();
        db.put_cf(db.cf_handle("meta").unwrap(), b"format", 2u32.to_le_bytes())
            .unwrap();
    }
    assert!(matches!(
        reopen(dir.path()).err(),
        Some(StoreError::Format { found: 2, .. })
    ));
}

#[test]
fn a_compaction_that_meets_damage_stops_writing() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path());
    let table = data_table(dir.path());
    flip(&table, fs::metadata(&table).unwrap().len() as usize / 2);
    let store = reopen(dir.path()).unwrap();
    assert_names(store.compact().unwrap_err(), &table);
    let entry = put("new", "v", stamp(1 << 40, 1));
    assert_names(store.apply(&[entry], 501).unwrap_err(), &table);
    // What is whole stays readable, for a replica to be rebuilt from.
    assert_eq!(get(&store, "key 0000").unwrap().value, value(0));
}
