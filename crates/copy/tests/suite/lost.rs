//! What a copy would lose is refused by name, before anything is at the target.

use std::path::{Path, PathBuf};

use crate::support::{assert_left, content, copy, noise, places, settings};
use dunlin_copy::{CopyError, Mode, Settings, Watch, verify};
use rocksdb::{BlockBasedOptions, ChecksumType, DB, DBCompressionType, MergeOperands, Options};

fn creating() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options
}

fn put(db: &DB, numbers: std::ops::Range<u32>) {
    for number in numbers {
        db.put(format!("key {number:06}"), noise(number.into(), 50))
            .unwrap();
    }
}

/// The message of a refusal; nothing was begun.
fn refusal(error: CopyError, directory: &Path, left: &[&str]) -> String {
    assert!(matches!(error, CopyError::Unsupported { .. }), "{error:?}");
    assert_left(directory, left);
    error.to_string()
}

#[test]
fn logs_in_another_directory_are_copied_when_they_are_named() {
    let (directory, source, target) = places();
    let logs = directory.path().join("logs");
    let mut options = creating();
    options.set_wal_dir(&logs);
    let db = DB::open(&options, &source).unwrap();
    put(&db, 0..500);
    db.flush().unwrap();
    put(&db, 500..1_000);
    drop(db);
    let expected = {
        let db = DB::open_for_read_only(&options, &source, false).unwrap();
        db.iterator(rocksdb::IteratorMode::Start).count()
    };
    assert_eq!(expected, 1_000);

    let plain = settings(&source, &target);
    let error = copy(&plain).unwrap_err();
    let told = refusal(error, directory.path(), &["logs", "source"]);
    assert!(
        told.contains(&format!("--wal-dir {}", logs.display())),
        "{told}"
    );
    let named = Settings {
        log_directory: Some(logs.clone()),
        ..plain.clone()
    };
    for mode in [Mode::Files, Mode::Ingest, Mode::Insert] {
        copy(&Settings {
            mode: Some(mode),
            ..named.clone()
        })
        .unwrap();
        assert_eq!(content(&target)["default"].len(), 1_000, "{mode}");
        verify(&named, &Watch::default()).unwrap();
        let error = verify(&plain, &Watch::default()).unwrap_err();
        assert!(matches!(error, CopyError::Unsupported { .. }), "{error:?}");
        std::fs::remove_dir_all(&target).unwrap();
    }
    assert_left(directory.path(), &["logs", "source"]);
}

/// A database of before that was moved: its options still name where it was.
#[test]
fn logs_beside_the_tables_are_taken_whatever_the_options_name() {
    let (directory, source, target) = places();
    let mut options = creating();
    options.set_wal_dir(&source);
    let db = DB::open(&options, &source).unwrap();
    put(&db, 0..100);
    drop(db);
    let moved = directory.path().join("moved");
    std::fs::rename(&source, &moved).unwrap();
    copy(&settings(&moved, &target)).unwrap();
    assert_eq!(content(&target)["default"].len(), 100);
}

fn merging() -> Options {
    let append = |_: &[u8], old: Option<&[u8]>, operands: &MergeOperands| {
        let mut value = old.unwrap_or_default().to_vec();
        operands
            .iter()
            .for_each(|operand| value.extend_from_slice(operand));
        Some(value)
    };
    let mut options = creating();
    options.set_merge_operator("append", append, |_, _, _| None);
    options
}

#[test]
fn merge_operands_in_a_log_are_refused_and_nothing_behind_them_is_lost() {
    let (directory, source, target) = places();
    let db = DB::open(&merging(), &source).unwrap();
    put(&db, 0..100);
    db.merge("key 000001", "more").unwrap();
    put(&db, 100..200);
    drop(db);
    for mode in [Mode::Files, Mode::Ingest, Mode::Insert] {
        let settings = Settings {
            mode: Some(mode),
            ..settings(&source, &target)
        };
        let told = refusal(copy(&settings).unwrap_err(), directory.path(), &["source"]);
        assert!(told.contains("merge operands"), "{mode}: {told}");
    }
}

#[test]
fn merge_operands_in_tables_go_with_files_alone() {
    let (directory, source, target) = places();
    let db = DB::open(&merging(), &source).unwrap();
    put(&db, 0..100);
    db.merge("key 000001", "more").unwrap();
    db.merge("new", "operand").unwrap();
    db.flush().unwrap();
    drop(db);
    for mode in [Mode::Ingest, Mode::Insert] {
        let settings = Settings {
            mode: Some(mode),
            ..settings(&source, &target)
        };
        let told = refusal(copy(&settings).unwrap_err(), directory.path(), &["source"]);
        assert!(
            told.contains("\"default\" has merge operands"),
            "{mode}: {told}"
        );
    }
    copy(&settings(&source, &target)).unwrap();
    let copied = DB::open(&merging(), &target).unwrap();
    assert_eq!(copied.get("new").unwrap().unwrap(), b"operand");
    drop(copied);
    let error = verify(&settings(&source, &target), &Watch::default()).unwrap_err();
    assert!(matches!(error, CopyError::Unsupported { .. }), "{error:?}");
}

/// A database one of whose records is a wide-column entity, which no interface of C, and so of Rust,
/// can write: its kind is changed in the table.
fn with_an_entity(source: &Path) -> PathBuf {
    // Version 1; two columns: the default one and "wing"; their values.
    const ENTITY: &[u8] = b"\x01\x02\x00\x03\x04wing\x04onelong";
    let mut table = BlockBasedOptions::default();
    table.set_checksum_type(ChecksumType::NoChecksum);
    let mut options = creating();
    options.set_block_based_table_factory(&table);
    options.set_compression_type(DBCompressionType::None);
    let db = DB::open(&options, source).unwrap();
    put(&db, 0..100);
    db.put("a wader", ENTITY).unwrap();
    db.flush().unwrap();
    let name = db.live_files().unwrap()[0].name.clone();
    drop(db);
    let file = source.join(name.trim_start_matches('/'));
    let mut bytes = std::fs::read(&file).unwrap();
    let at = bytes
        .windows(7)
        .position(|bytes| bytes == b"a wader")
        .unwrap()
        + 7;
    assert_eq!(bytes[at], 0x01);
    bytes[at] = 0x16;
    std::fs::write(&file, bytes).unwrap();
    file
}

#[test]
fn wide_column_entities_go_with_files_alone_and_are_never_called_equal() {
    let (directory, source, target) = places();
    let file = with_an_entity(&source);
    let seen = content(&source);
    // What makes them dangerous: an iterator says nothing of the other columns.
    assert_eq!(seen["default"][&b"a wader"[..]], b"one");
    for mode in [Mode::Ingest, Mode::Insert] {
        let settings = Settings {
            mode: Some(mode),
            ..settings(&source, &target)
        };
        let told = refusal(copy(&settings).unwrap_err(), directory.path(), &["source"]);
        assert!(told.contains("wide-column entities"), "{mode}: {told}");
    }
    copy(&settings(&source, &target)).unwrap();
    let copied = target.join(file.file_name().unwrap());
    assert_eq!(
        std::fs::read(copied).unwrap(),
        std::fs::read(&file).unwrap()
    );
    let error = verify(&settings(&source, &target), &Watch::default()).unwrap_err();
    assert!(
        error.to_string().contains("wide-column entities"),
        "{error}"
    );
}

/// Behind the end of a recycled log stand records of its file's earlier life.
#[test]
fn recycled_logs_are_read_to_their_end_and_no_further() {
    let (_directory, source, target) = places();
    let mut options = creating();
    options.set_recycle_log_file_num(2);
    let db = DB::open(&options, &source).unwrap();
    for round in 0..6 {
        put(&db, 0..2_000 - round * 100);
        db.flush().unwrap();
    }
    db.delete("key 000001").unwrap();
    put(&db, 5_000..5_100);
    drop(db);
    let expected = content(&source);
    assert_eq!(expected["default"].len(), 2_000 - 1 + 100);
    for mode in [Mode::Files, Mode::Ingest] {
        copy(&Settings {
            mode: Some(mode),
            ..settings(&source, &target)
        })
        .unwrap();
        assert!(content(&target) == expected, "{mode}");
        verify(&settings(&source, &target), &Watch::default()).unwrap();
        std::fs::remove_dir_all(&target).unwrap();
    }
}
