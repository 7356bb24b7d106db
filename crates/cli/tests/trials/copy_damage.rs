//! Damage, on disk and on the wire, and everything else that is wrong: found, named in one line,
//! and never a target that looks whole.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use crate::copy_support::proxy::{Fate, Proxy};
use crate::copy_support::{assert_unusable, content, db_bench, receive};
use crate::harness::random::Random;
use crate::harness::tmpfs::Tmpfs;
use crate::support::run;

const MODES: [&str; 3] = ["files", "ingest", "insert"];

fn small(path: &Path) {
    db_bench(
        path,
        &[
            "--benchmarks=fillrandom,overwrite",
            "--num=5000",
            "--compression_type=none",
            "--write_buffer_size=200000",
        ],
    );
}

fn tables(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut tables: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|e| e == "sst"))
        .collect();
    tables.sort();
    tables
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn a_flipped_byte_in_a_table_is_named_and_leaves_no_database() {
    let mut random = Random::from_environment();
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("source");
    small(&source);
    let tables = tables(&source);
    for round in 0..30 {
        let table = &tables[random.below(tables.len())];
        let whole = std::fs::read(table).unwrap();
        let mut flipped = whole.clone();
        // Data blocks: what describes the table is tried elsewhere.
        let at = random.below(whole.len() * 3 / 4);
        flipped[at] ^= 1 << random.below(8);
        std::fs::write(table, &flipped).unwrap();
        let mode = MODES[round % 3];
        let target = directory.path().join(format!("target-{round}"));
        let (from, to) = (source.to_str().unwrap(), target.to_str().unwrap());
        let ended = run(&["copy", from, to, "--mode", mode, "--quiet"]);
        let complaint = ended.complaint(1);
        assert!(
            complaint.contains(&name(table)),
            "{mode}, byte {at}: {complaint}"
        );
        assert_unusable(&target);
        std::fs::write(table, whole).unwrap();
        // The same command, once the table is restored.
        run(&["copy", from, to, "--mode", mode, "--quiet"]).ok();
        assert!(content(&target) == content(&source), "{mode}");
    }
}

#[test]
fn missing_and_damaged_files_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("source");
    small(&source);
    let table = tables(&source).pop().unwrap();
    let manifest = std::fs::read_dir(&source)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| name(path).starts_with("MANIFEST-"))
        .unwrap();
    let target = directory.path().join("target");
    let copy = || {
        run(&[
            "copy",
            source.to_str().unwrap(),
            target.to_str().unwrap(),
            "--quiet",
        ])
    };
    for path in [&table, &manifest] {
        let whole = std::fs::read(path).unwrap();
        std::fs::remove_file(path).unwrap();
        let complaint = copy().complaint(1).to_owned();
        assert!(
            complaint.contains(&name(path)) && complaint.contains("missing"),
            "{complaint}"
        );
        let mut flipped = whole.clone();
        flipped[whole.len() / 3] ^= 0x20;
        std::fs::write(path, flipped).unwrap();
        let complaint = copy().complaint(1).to_owned();
        assert!(complaint.contains(&name(path)), "{complaint}");
        std::fs::write(path, whole).unwrap();
    }
    let current = source.join("CURRENT");
    let whole = std::fs::read(&current).unwrap();
    std::fs::write(&current, "nonsense").unwrap();
    assert!(copy().complaint(1).contains("CURRENT is damaged"));
    std::fs::remove_file(&current).unwrap();
    assert!(
        copy()
            .complaint(1)
            .contains("CURRENT is damaged: the file is missing")
    );
    std::fs::write(&current, whole).unwrap();
    assert_unusable(&target);
    copy().ok();
    assert!(content(&target) == content(&source));
}

#[test]
fn what_cannot_be_copied_is_refused_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let source = path("source");
    small(source.as_ref());
    let refused = |arguments: &[&str], words: &str| {
        let ended = run(&[&["copy"][..], arguments, &["--quiet", "--retry-for", "0s"]].concat());
        let complaint = ended.complaint(1);
        assert!(complaint.contains(words), "{arguments:?}: {complaint}");
    };
    refused(&[&path("none"), &path("t")], "is not a RocksDB database");
    std::fs::create_dir(path("empty")).unwrap();
    refused(&[&path("empty"), &path("t")], "is not a RocksDB database");
    // A target with something in it.
    std::fs::create_dir(path("other")).unwrap();
    std::fs::write(path("other") + "/file", "mine").unwrap();
    let other = path("other");
    for more in [&[][..], &["--merge"], &["--replace"]] {
        let arguments = [&[source.as_str(), &other][..], more].concat();
        refused(&arguments, "is not empty and not a database");
    }
    assert_eq!(std::fs::read(path("other") + "/file").unwrap(), b"mine");
    small(path("there").as_ref());
    let before = content(path("there").as_ref());
    refused(
        &[&source, &path("there")],
        "--merge adds to it, --replace removes it",
    );
    assert!(content(path("there").as_ref()) == before);
    refused(
        &[&source, &path("t"), "--cf", "nope"],
        "has no column family \"nope\"",
    );
    refused(
        &[&source, &path("there"), "--merge", "--mode=files"],
        "needs an empty target",
    );
    // A database that a program has open.
    let open = rocksdb::DB::open_default(path("there")).unwrap();
    for more in ["--merge", "--replace"] {
        refused(&[&source, &path("there"), more], "in use");
    }
    drop(open);
    // Another comparator.
    let mut options = rocksdb::Options::default();
    options.create_if_missing(true);
    options.set_comparator("backwards", Box::new(|a: &[u8], b: &[u8]| b.cmp(a)));
    drop(rocksdb::DB::open(&options, path("comparator")).unwrap());
    refused(&[&path("comparator"), &path("t")], "backwards");
    // Nobody there, and somebody else there.
    refused(&[&source, "127.0.0.1:1"], "127.0.0.1:1");
    for (answer, words) in [
        (
            &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
            "does not speak the copy protocol",
        ),
        (b"DNCP\x02\x00\x01\x00", "version 2 of the copy protocol"),
    ] {
        let mut answer = answer.to_vec();
        if answer.len() == 8 {
            let sum = crc32c(&answer);
            answer.extend_from_slice(&sum.to_le_bytes());
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 12]);
                let _ = stream.write_all(&answer);
            }
        });
        refused(&[&source, &address], words);
    }
    assert!(!Path::new(&path("t")).join("CURRENT").exists());
}

/// CRC-32C, bit by bit, so that the test shares no code with what it tests.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0x82f6_3b78 & 0u32.wrapping_sub(crc & 1))
        })
    })
}

#[test]
fn bytes_flipped_and_connections_cut_on_the_wire_do_no_harm() {
    for mode in MODES {
        let mut random = Random::from_environment();
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        small(&path("source"));
        let receiver = receive(&path("target"), &path("receiver.log"));
        // Most connections are hurt; some must get through for the copy to end.
        let fates: Vec<Fate> = (0..1_000)
            .map(|number| match random.below(4) {
                // The first never gets far, whatever chance says of the others.
                _ if number == 0 => Fate::Cut(10),
                0 | 1 => Fate::Flip(random.below(80_000)),
                2 => Fate::Cut(random.below(80_000)),
                _ => Fate::Pass,
            })
            .collect();
        let proxy = Proxy::start(receiver.address.clone(), move |number| {
            fates[number % 1_000]
        });
        let (source, target) = (path("source"), path("target"));
        let mut tries = 0;
        loop {
            let ended = run(&[
                "copy",
                source.to_str().unwrap(),
                &proxy.address,
                "--mode",
                mode,
                "--range-size=64KiB",
                "--quiet",
            ]);
            if ended.code == 0 {
                break;
            }
            // A hello that was flipped is an end with a clear line; the same command goes on.
            ended.complaint(1);
            tries += 1;
            assert!(tries < 20, "{}", ended.stderr);
        }
        let hurt = (
            proxy.flips.load(Ordering::Relaxed),
            proxy.cuts.load(Ordering::Relaxed),
        );
        assert!(hurt.0 + hurt.1 > 0, "{mode}: {hurt:?}");
        println!("{mode}: {hurt:?} flips and cuts");
        assert!(content(&target) == content(&source), "{mode}");
    }
}

#[test]
fn a_full_disk_is_named_and_the_copy_goes_on_when_there_is_room() {
    for mode in MODES {
        let directory = tempfile::tempdir().unwrap();
        let (source, disk) = (
            directory.path().join("source"),
            directory.path().join("disk"),
        );
        db_bench(
            &source,
            &[
                "--benchmarks=fillseq",
                "--num=60000",
                "--compression_type=none",
                "--write_buffer_size=1000000",
            ],
        );
        let Some(mounted) = Tmpfs::mount(&disk, 48) else {
            return;
        };
        mounted.fill(44 << 20);
        let target = disk.join("target");
        let arguments = [
            "copy",
            source.to_str().unwrap(),
            target.to_str().unwrap(),
            "--mode",
            mode,
        ];
        let arguments = [
            &arguments[..],
            &["--range-size=512KiB", "--table-compression=none", "--quiet"],
        ]
        .concat();
        let complaint = run(&arguments).complaint(1).to_owned();
        assert!(complaint.contains("no space left"), "{mode}: {complaint}");
        assert_unusable(&target);
        mounted.empty();
        run(&arguments).ok();
        assert!(content(&target) == content(&source), "{mode}");
    }
}
