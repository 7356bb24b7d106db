//! What `dunlin copy` and `dunlin receive` take of memory when values have 64 MB.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::copy_support::{content, receive};
use crate::harness::child::{Process, dunlin};
use crate::harness::up::Up;
use crate::harness::wire::Wire;

/// What a process may have had resident at most.
const PEAK_KIB_MAX: u64 = 256 << 10;
const MODES: [&str; 3] = ["files", "ingest", "insert"];
const VALUE_BYTES: usize = 64 << 20;

/// Values of 64 MB, several in a table and in a range, small ones between them.
fn source(directory: &Path) -> PathBuf {
    let source = directory.join("source");
    let mut options = rocksdb::Options::default();
    options.create_if_missing(true);
    options.set_compression_type(rocksdb::DBCompressionType::None);
    options.set_target_file_size_base(200 << 20);
    let db = rocksdb::DB::open(&options, &source).unwrap();
    for number in 0..6u8 {
        let mut value = vec![number; VALUE_BYTES];
        // Not to be compressed to nothing by the tables at the target.
        let mut state = u64::from(number) + 1;
        for word in value.chunks_exact_mut(8) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            word.copy_from_slice(&state.to_le_bytes());
        }
        db.put([number], value).unwrap();
        db.put([number, 1], b"small").unwrap();
    }
    // What only a log holds is RocksDB's to recover, in as much memory as that takes.
    db.flush().unwrap();
    // A value of each of several runs that overlap is in memory when they are merged.
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    source
}

/// Runs `dunlin copy` to its end and looks at how much it has resident.
fn assert_small(source: &Path, target: &str, more: &[&str], log: &Path) {
    let mut command = dunlin();
    command.arg("copy").arg(source).arg(target);
    command.args(more).arg("--quiet");
    let mut process = Process::start(&mut command, log);
    let mut peak_kib = 0;
    while process.is_running() {
        // It may be gone by now.
        let status = std::fs::read_to_string(format!("/proc/{}/status", process.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let number = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak_kib = peak_kib.max(number.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(5));
    }
    let code = process.ended(Duration::from_secs(1));
    assert_eq!(code, Some(0), "{}", process.output());
    println!("to {target} {more:?}: {peak_kib} KiB");
    assert!(
        peak_kib < PEAK_KIB_MAX,
        "to {target} {more:?}: {peak_kib} KiB"
    );
}

/// Compares. What was inserted lies in tables that overlap and are not merged yet, see above.
fn assert_verified(source: &Path, target: &str, mode: &str, log: &Path) {
    if mode != "insert" {
        assert_small(source, target, &["--verify-only"], log);
    }
}

#[test]
fn a_receiver_and_its_sender_stay_small() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let source = source(directory.path());
    rocksdb::DB::open_default(&source)
        .unwrap()
        .put(b"", b"empty key")
        .unwrap();
    let log = path("sender.log");
    for mode in MODES {
        let target = path(mode);
        let receiver = receive(&target, &path(&format!("{mode}.log")));
        assert_small(&source, &receiver.address, &["--mode", mode], &log);
        assert_verified(&source, &receiver.address, mode, &log);
        let receiver_kib = receiver.process.rss_kib_max();
        println!("{mode}: receiver {receiver_kib} KiB");
        assert!(
            receiver_kib < PEAK_KIB_MAX,
            "{mode}: receiver {receiver_kib} KiB"
        );
        drop(receiver);
        assert!(content(&target) == content(&source), "{mode}");
        std::fs::remove_dir_all(&target).unwrap();
    }
}

#[test]
fn a_copy_into_a_directory_stays_small_though_it_is_both_sides() {
    let directory = tempfile::tempdir().unwrap();
    let source = source(directory.path());
    let log = directory.path().join("log");
    for mode in MODES {
        let target = directory.path().join(mode);
        let shown = target.to_str().unwrap();
        assert_small(&source, shown, &["--mode", mode], &log);
        assert!(content(&target) == content(&source), "{mode}");
        assert_verified(&source, shown, mode, &log);
        std::fs::remove_dir_all(&target).unwrap();
    }
}

#[test]
fn a_copy_into_a_keyspace_stays_small() {
    let up = Up::with(1, &["--max-body=64MiB"]);
    // A node that scans keeps a block of each partition in memory; that is not what is looked at.
    let body = r#"{"name":"large","sync":"never","replicas":1,"partitions":1}"#;
    let created = Wire::open(up.ports[0]).request("POST", "/v1/keyspaces", body);
    assert_eq!(created.status, 201, "{created:?}");
    let directory = tempfile::tempdir().unwrap();
    let source = source(directory.path());
    let log = directory.path().join("log");
    let target = up.url(0, "/large");
    assert_small(&source, &target, &[], &log);
    assert_small(&source, &target, &["--verify-only"], &log);
    assert_small(
        &source,
        &target,
        &["--verify-only", "--range-size=400MiB"],
        &log,
    );
}
