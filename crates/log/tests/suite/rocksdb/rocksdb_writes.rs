//! Files that RocksDB wrote.

use super::tools::{assert_same, command, dump_wal, encode, logs, number, read, run, shown};
use dunlin_log::{
    block::Form,
    inspect::{Rest, Verdict, WriteBatch},
};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    time::Duration,
};

/// Settings `db_bench` has no flags for. Recycling needs a recovery mode that tolerates what a
/// recycled file ends with.
const RECYCLING: &str = "
[Version]
  rocksdb_version=7.8.3
  options_file_version=1.1
[DBOptions]
  create_if_missing=true
  recycle_log_file_num=4
  wal_recovery_mode=kSkipAnyCorruptedRecords
[CFOptions \"default\"]
  write_buffer_size=WRITE_BUFFER
  compression=kNoCompression
[TableOptions/BlockBasedTable \"default\"]
";

/// `db_bench fillrandom` without a flush: all of it is in one log.
fn fill(directory: &Path, arguments: &[&str]) -> PathBuf {
    let db = format!("--db={}", directory.display());
    let mut all = vec![
        "--benchmarks=fillrandom",
        &db,
        "--compression_type=none",
        "--write_buffer_size=1073741824",
    ];
    all.extend(arguments);
    run("db_bench", &all);
    let logs = logs(directory);
    assert_eq!(logs.len(), 1, "{logs:?}");
    logs[0].clone()
}

/// One writer, one entry a record: every size leaves other tails.
#[test]
fn every_record_is_read_and_written_again_byte_for_byte() {
    let home = tempfile::tempdir().unwrap();
    let mut pieces = [0; 4];
    for (key_size, value_size, entries) in [
        (16, 1, 40_000),
        (16, 17, 40_000),
        (16, 128, 10_000),
        (24, 1000, 3_000),
        (100, 8192, 400),
        (16, 40_000, 100),
        (1024, 150_000, 30),
    ] {
        let file = fill(
            &home.path().join(format!("{key_size}-{value_size}")),
            &[
                "--threads=1",
                &format!("--num={entries}"),
                &format!("--key_size={key_size}"),
                &format!("--value_size={value_size}"),
            ],
        );
        let it = read(&file);
        let stat = &it.stat;
        assert_eq!(stat.verdict(), Verdict::Whole);
        assert_eq!((stat.records, stat.batches.operations), (entries, entries));
        assert_eq!(stat.batches.key_bytes, entries * key_size);
        assert_eq!(stat.batches.value_bytes, entries * value_size);
        assert_eq!(it.end.rest, Rest::Nothing);
        assert_same(&encode(&it.payloads, Form::Legacy), &it.bytes);
        pieces = std::array::from_fn(|at| pieces[at] + stat.fragments[at]);
    }
    assert!(pieces.iter().all(|count| *count > 0), "{pieces:?}");
}

/// Equal records fall into a rhythm; these do not, and end a block at every distance from its end.
#[test]
fn every_size_of_a_tail_is_written_again() {
    let home = tempfile::tempdir().unwrap();
    let file = fill(
        &home.path().join("db"),
        &[
            "--threads=1",
            "--num=400000",
            "--key_size=16",
            "--value_size_distribution_type=uniform",
            "--value_size_min=0",
            "--value_size_max=20",
        ],
    );
    let it = read(&file);
    assert_eq!(it.stat.batches.operations, 400_000);
    assert_eq!(it.stat.batches.key_bytes, 16 * 400_000);
    assert_eq!(it.tails, (1..7).collect::<BTreeSet<u64>>());
    assert_same(&encode(&it.payloads, Form::Legacy), &it.bytes);
}

/// Batches of several writers joined into one record, values of any length.
#[test]
fn group_commits_and_mixed_sizes_agree_with_ldb() {
    let home = tempfile::tempdir().unwrap();
    let file = fill(
        &home.path().join("db"),
        &[
            "--threads=3",
            "--batch_size=4",
            "--num=400",
            "--key_size=20",
            "--value_size_distribution_type=uniform",
            "--value_size_min=0",
            "--value_size_max=9000",
        ],
    );
    let it = read(&file);
    assert_eq!(it.stat.batches.operations, 1200);
    assert_same(&encode(&it.payloads, Form::Legacy), &it.bytes);

    let (lines, complaints) = dump_wal(&file);
    assert_eq!(complaints, "");
    assert_eq!(lines.len(), it.payloads.len());
    for ((line, record), payload) in lines.iter().zip(&it.records).zip(&it.payloads) {
        let batch = WriteBatch::whole(payload).unwrap();
        assert_eq!((batch.sequence, batch.count), (line.sequence, line.count));
        assert_eq!(record.payload_bytes, line.bytes);
        assert!(
            line.is_at(record.offset),
            "{} {}",
            line.offset,
            record.offset
        );
        assert_eq!(line.operations, shown(payload));
    }
}

fn recycling(home: &Path, write_buffer_bytes: u32) -> [String; 2] {
    let options = home.join("options.ini");
    let text = RECYCLING.replace("WRITE_BUFFER", &write_buffer_bytes.to_string());
    fs::write(&options, text).unwrap();
    [
        format!("--options_file={}", options.display()),
        format!("--db={}", home.join("db").display()),
    ]
}

#[test]
fn recyclable_headers_are_read_and_written_again_byte_for_byte() {
    let home = tempfile::tempdir().unwrap();
    let mut tails = BTreeSet::<u64>::new();
    for (write_buffer_bytes, value_size, entries) in [
        (4 << 20, 1, 100_000),
        (1 << 20, 90, 20_000),
        (256 << 10, 700, 3_000),
        (256 << 10, 3_000, 600),
    ] {
        let [options, db] = recycling(home.path(), write_buffer_bytes);
        let _ = fs::remove_dir_all(home.path().join("db"));
        run(
            "db_bench",
            &[
                &options,
                &db,
                "--benchmarks=fillrandom",
                "--threads=1",
                "--key_size=20",
                &format!("--value_size={value_size}"),
                &format!("--num={entries}"),
            ],
        );
        let logs = logs(&home.path().join("db"));
        assert!(!logs.is_empty());
        for file in logs {
            let it = read(&file);
            assert!(it.stat.records > 10 && it.stat.verdict() == Verdict::Whole);
            assert!(
                it.records
                    .iter()
                    .all(|record| (5..=8).contains(&record.code.0))
            );
            assert_eq!(it.stat.batches.value_bytes, it.stat.records * value_size);
            let ours = encode(&it.payloads, Form::Recyclable(number(&file)));
            assert_same(&ours, &it.bytes[..it.end.offset as usize]);
            tails.extend(&it.tails);
        }
    }
    assert!(tails.iter().any(|bytes| *bytes > 6), "{tails:?}");
}

/// A killed `db_bench` leaves a recycled log with what it held before behind its end: a clean stop
/// would have cut that off.
#[test]
fn what_a_recycled_file_held_before_is_its_end() {
    for attempt in 0..20 {
        let home = tempfile::tempdir().unwrap();
        let [options, db] = recycling(home.path(), 256 << 10);
        let mut running = Killed(
            command("db_bench")
                .args([
                    &options,
                    &db,
                    "--benchmarks=fillrandom",
                    "--threads=1",
                    "--key_size=20",
                    "--value_size=3000",
                    "--num=100000000",
                    "--benchmark_write_rate_limit=4000000",
                ])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("no db_bench: scripts/setup.sh installs rocksdb-tools"),
        );
        let log = home.path().join("db/LOG");
        let reused = || {
            fs::read_to_string(&log)
                .unwrap_or_default()
                .contains("reusing log")
        };
        for _ in 0..600 {
            if reused() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        // A part of a file's worth into the next one.
        std::thread::sleep(Duration::from_millis(20 + 13 * attempt));
        running.stop();
        assert!(reused(), "no log was recycled");
        for file in logs(&home.path().join("db")) {
            if fs::metadata(&file).unwrap().len() == 0 {
                // Made in the moment of the kill.
                continue;
            }
            let it = read(&file);
            let Rest::Stale { number: old } = it.end.rest else {
                continue;
            };
            if it.stat.records == 0 {
                continue;
            }
            assert_eq!(it.stat.verdict(), Verdict::Whole);
            assert!(it.end.unused_bytes > 0);
            assert_ne!(old, Some(number(&file)));
            let ours = encode(&it.payloads, Form::Recyclable(number(&file)));
            assert_same(&ours, &it.bytes[..it.end.offset as usize]);
            let sequences: Vec<u64> = it
                .payloads
                .iter()
                .map(|payload| WriteBatch::whole(payload).unwrap().sequence)
                .collect();
            assert!(sequences.windows(2).all(|pair| pair[0] + 1 == pair[1]));
            let (lines, _) = dump_wal(&file);
            assert_eq!(lines.len(), it.payloads.len());
            return;
        }
    }
    panic!("no log with stale bytes behind its end in twenty attempts");
}

/// A process that does not outlive the test.
struct Killed(Child);

impl Killed {
    fn stop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        self.stop();
    }
}

#[test]
fn compressed_records_are_counted_but_not_taken_for_batches() {
    let home = tempfile::tempdir().unwrap();
    let file = fill(
        &home.path().join("db"),
        &[
            "--threads=1",
            "--num=500",
            "--value_size=900",
            "--wal_compression=zstd",
        ],
    );
    let it = read(&file);
    let stat = &it.stat;
    assert_eq!(
        (stat.records, stat.compressed_records, stat.own_records),
        (500, 500, 1)
    );
    assert_eq!(stat.batches.batches, 0);
    assert!(
        it.records
            .iter()
            .all(|record| record.compression == Some(7))
    );
    assert_eq!(stat.verdict(), Verdict::Whole);
}

/// RocksDB keeps its manifest in the same format.
#[test]
fn a_manifest_reads_as_a_log() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("db");
    fill(&directory, &["--threads=1", "--num=10"]);
    let manifest = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().contains("MANIFEST"))
        .unwrap();
    let renamed = home.path().join("000001.log");
    fs::copy(manifest, &renamed).unwrap();
    let stat = read(&renamed).stat;
    assert!(stat.records > 0 && stat.batches.batches == 0);
    assert_eq!(stat.verdict(), Verdict::Whole);
}
