//! Every mode copies everything, to a directory and over TCP.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

use crate::support::{assert_left, content, copy, places, settings, various};
use dunlin_copy::{Compression, Mode, Onto, Receiver, Settings, Target, Watch, verify};
use rocksdb::{DB, Options};

const MODES: [Mode; 3] = [Mode::Files, Mode::Ingest, Mode::Insert];

/// A receiver into `directory`; its address.
fn receiver(directory: &Path) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let receiver = Arc::new(Receiver::new(directory.to_path_buf()));
    std::thread::spawn(move || receiver.serve(&listener, |error| eprintln!("receiver: {error}")));
    address
}

#[test]
fn every_mode_copies_all_column_families_to_a_directory() {
    for mode in MODES {
        let (directory, source, target) = places();
        various(&source, 5_000);
        let outcome = copy(&Settings {
            mode: Some(mode),
            ..settings(&source, &target)
        })
        .unwrap();
        assert_eq!(outcome.mode, mode);
        let expected = content(&source);
        assert_eq!(expected["default"][&b""[..]], b"value of the empty key");
        assert!(content(&target) == expected, "{mode}");
        let pairs: usize = expected.values().map(|family| family.len()).sum();
        if mode != Mode::Files {
            assert_eq!(outcome.sent.pairs, pairs as u64, "{mode}");
        }
        assert!(outcome.units > 5, "{mode}: {}", outcome.units);
        assert_left(directory.path(), &["source", "target"]);
        let verified = verify(&settings(&source, &target), &Watch::default()).unwrap();
        assert_eq!(verified.tally.pairs, pairs as u64);
        assert_left(directory.path(), &["source", "target"]);
    }
}

/// Snappy is what RocksDB takes when nobody says.
#[test]
fn every_compression_of_the_source_is_read_by_every_mode() {
    use rocksdb::DBCompressionType::{Bz2, Lz4, Lz4hc, Snappy, Zlib, Zstd};
    for compression in [Snappy, Zlib, Bz2, Lz4, Lz4hc, Zstd] {
        let (_directory, source, target) = places();
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_compression_type(compression);
        let db = DB::open(&options, &source).unwrap();
        for number in 0..2_000 {
            let value = format!("{number} {}", "of a kind ".repeat(number % 30));
            db.put(format!("key {number:06}"), value).unwrap();
        }
        db.flush().unwrap();
        drop(db);
        let expected = content(&source);
        assert_eq!(expected["default"].len(), 2_000);
        for mode in MODES {
            copy(&Settings {
                mode: Some(mode),
                ..settings(&source, &target)
            })
            .unwrap_or_else(|error| panic!("{compression:?}, {mode}: {error}"));
            assert!(content(&target) == expected, "{compression:?}, {mode}");
            verify(&settings(&source, &target), &Watch::default()).unwrap();
            std::fs::remove_dir_all(&target).unwrap();
        }
    }
}

#[test]
fn every_mode_and_compression_copies_over_tcp() {
    for mode in MODES {
        for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
            let (_directory, source, target) = places();
            various(&source, 2_000);
            let settings = Settings {
                mode: Some(mode),
                compression,
                table_compression: compression,
                target: Target::Receiver(receiver(&target)),
                ..settings(&source, &target)
            };
            copy(&settings).unwrap();
            assert!(
                content(&target) == content(&source),
                "{mode} {compression:?}"
            );
            verify(&settings, &Watch::default()).unwrap();
        }
    }
}

#[test]
fn the_mode_is_chosen_by_what_the_target_needs() {
    let (_directory, source, target) = places();
    various(&source, 500);
    let plain = settings(&source, &target);
    assert_eq!(copy(&plain).unwrap().mode, Mode::Files);
    let replace = Settings {
        onto: Onto::Replace,
        ..plain.clone()
    };
    std::fs::write(target.join("CURRENT.note"), "somebody's").unwrap();
    assert_eq!(copy(&replace).unwrap().mode, Mode::Files);
    assert!(content(&target) == content(&source));
    assert!(target.join("CURRENT.note").exists());
    let some = Settings {
        column_families: vec!["birds".to_owned()],
        onto: Onto::Merge,
        ..plain
    };
    assert_eq!(copy(&some).unwrap().mode, Mode::Ingest);
}

#[test]
fn merging_adds_and_overwrites_and_keeps_the_rest() {
    for mode in [Mode::Ingest, Mode::Insert] {
        let (_directory, source, target) = places();
        various(&source, 1_000);
        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        options.set_max_background_jobs(7);
        let db = DB::open_cf(&options, &target, ["default", "own"]).unwrap();
        db.put(b"", b"older").unwrap();
        db.put(b"zzz", b"kept").unwrap();
        db.put_cf(db.cf_handle("own").unwrap(), b"k", b"v").unwrap();
        drop(db);
        let merge = Settings {
            mode: Some(mode),
            onto: Onto::Merge,
            ..settings(&source, &target)
        };
        copy(&merge).unwrap();
        let mut expected = content(&source);
        let default = expected.get_mut("default").unwrap();
        default.insert(b"zzz".to_vec(), b"kept".to_vec());
        expected.insert("own".to_owned(), [(b"k".to_vec(), b"v".to_vec())].into());
        assert!(content(&target) == expected, "{mode}");
        let newest = Options::load_latest(
            &target,
            rocksdb::Env::new().unwrap(),
            true,
            rocksdb::Cache::new_lru_cache(1 << 20),
        );
        assert!(newest.is_ok(), "{:?}", newest.err());
    }
}

#[test]
fn a_database_in_use_is_copied_as_of_a_moment() {
    let (_directory, source, target) = places();
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_write_buffer_size(128 << 10);
    let db = DB::open(&options, &source).unwrap();
    let key = |number: u64| number.to_be_bytes();
    for number in 0..3_000u64 {
        db.put(key(number), crate::support::noise(number, 100))
            .unwrap();
    }
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (db, stop) = (&db, &stop);
        scope.spawn(move || {
            for number in 3_000u64.. {
                if stop.load(std::sync::atomic::Ordering::Relaxed) {
                    return;
                }
                db.put(key(number), crate::support::noise(number, 100))
                    .unwrap();
                if number % 64 == 0 {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
            }
        });
        for mode in MODES {
            let replace = Settings {
                mode: Some(mode),
                onto: Onto::Replace,
                ..settings(&source, &target)
            };
            copy(&replace).unwrap();
            let copied = content(&target);
            let pairs = &copied["default"];
            // Writes came one after the other, so a moment is a prefix of them.
            assert!(pairs.len() >= 3_000, "{mode}");
            for (at, (found, value)) in pairs.iter().enumerate() {
                assert_eq!(found[..], key(at as u64), "{mode}");
                assert!(*value == crate::support::noise(at as u64, 100), "{mode}");
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_difference_is_found_and_named() {
    let (_directory, source, target) = places();
    various(&source, 500);
    copy(&settings(&source, &target)).unwrap();
    let options = Options::default();
    let names = DB::list_cf(&options, &target).unwrap();
    let db = DB::open_cf(&options, &target, names).unwrap();
    db.put_cf(db.cf_handle("birds").unwrap(), b"one more", b"")
        .unwrap();
    drop(db);
    let different = verify(&settings(&source, &target), &Watch::default()).unwrap_err();
    let text = different.to_string();
    assert!(
        text.contains("differ in 1 of") && text.contains("birds ["),
        "{text}"
    );
}

#[test]
fn values_of_64_mb_are_carried() {
    for mode in MODES {
        let (_directory, source, target) = places();
        let mut options = Options::default();
        options.create_if_missing(true);
        let db = DB::open(&options, &source).unwrap();
        for number in 0..3u64 {
            db.put(
                number.to_be_bytes(),
                crate::support::noise(number, 64 << 20),
            )
            .unwrap();
            db.put([&number.to_be_bytes()[..], b"small"].concat(), b"v")
                .unwrap();
        }
        drop(db);
        let settings = Settings {
            mode: Some(mode),
            target: Target::Receiver(receiver(&target)),
            ..settings(&source, &target)
        };
        copy(&settings).unwrap();
        assert!(content(&target) == content(&source), "{mode}");
    }
}

#[test]
fn databases_with_blob_files_are_copied() {
    for mode in MODES {
        let (_directory, source, target) = places();
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_enable_blob_files(true);
        options.set_min_blob_size(50);
        let db = DB::open(&options, &source).unwrap();
        for number in 0..500u64 {
            db.put(
                number.to_be_bytes(),
                crate::support::noise(number, number as usize),
            )
            .unwrap();
        }
        db.flush().unwrap();
        db.put(b"in the log only", crate::support::noise(7, 1_000))
            .unwrap();
        drop(db);
        let settings = Settings {
            mode: Some(mode),
            ..settings(&source, &target)
        };
        copy(&settings).unwrap();
        assert!(content(&target) == content(&source), "{mode}");
    }
}

#[test]
fn merge_operands_that_nobody_here_can_read_are_named() {
    let (_directory, source, target) = places();
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_merge_operator_associative("append", |_, existing, operands| {
        let mut all = existing.unwrap_or_default().to_vec();
        operands
            .iter()
            .for_each(|operand| all.extend_from_slice(operand));
        Some(all)
    });
    let db = DB::open(&options, &source).unwrap();
    db.merge(b"k", b"one").unwrap();
    db.flush().unwrap();
    db.merge(b"k", b"two").unwrap();
    let settings = settings(&source, &target);
    let ingest = Settings {
        mode: Some(Mode::Ingest),
        ..settings.clone()
    };
    let refused = copy(&ingest).unwrap_err().to_string();
    assert!(refused.contains("merge operands"), "{refused}");
    // Once they are in tables, these travel as they are.
    db.flush().unwrap();
    drop(db);
    copy(&Settings {
        mode: Some(Mode::Files),
        ..settings
    })
    .unwrap();
    let db = DB::open(&options, &target).unwrap();
    assert_eq!(db.get(b"k").unwrap().unwrap(), b"onetwo");
}
