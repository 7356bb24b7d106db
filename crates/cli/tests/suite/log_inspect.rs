//! log dump, stat and check of single files: Dunlin's and RocksDB's, whole, torn, damaged, and no
//! logs at all.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::log_data::{data_with, data_with_log, rocksdb_log};
use crate::support::{dunlin, run};
use bytes::Bytes;
use dunlin_entry::{Entry, Kind, Origin, Stamp, Version};
use serde_json::Value;

/// A RocksDB log of 300 write batches.
fn rocksdb_file(home: &Path) -> (PathBuf, Vec<u8>, Vec<usize>) {
    let file = home.join("000007.log");
    let (bytes, ends) = rocksdb_log(300, 32 << 10);
    std::fs::write(&file, &bytes).unwrap();
    (file, bytes, ends)
}

fn lines(arguments: &[&str]) -> Vec<String> {
    let ended = run(arguments).ok();
    ended.text().lines().map(str::to_owned).collect()
}

fn objects(arguments: &[&str]) -> Vec<Value> {
    let parse = |line: &String| serde_json::from_str(line).unwrap();
    lines(arguments).iter().map(parse).collect()
}

#[test]
fn write_batches_are_listed_with_their_operations() {
    let home = tempfile::tempdir().unwrap();
    let (file, bytes, ends) = rocksdb_file(home.path());
    let path = file.to_str().unwrap();
    let text = lines(&["log", "dump", path]);
    assert_eq!(text[0], format!("{path}: RocksDB log 7, blocks of 32KiB"));
    // File, headings, records, end.
    assert_eq!(text.len(), 2 + 300 + 1);
    let words: Vec<&str> = text[12].split_whitespace().collect();
    assert_eq!(words[0], ends[9].to_string());
    assert_eq!(words[1..4], ["FULL", "40", "1"]);
    assert_eq!(
        words[4..].join(" "),
        "seq 21 count 2, PUT \"key00010\" (8 bytes) value 10 bytes, DELETE \"gone\" (4 bytes)"
    );
    assert!(
        text.iter().any(|line| line.contains(" RECORD ")),
        "in pieces"
    );
    let end: Vec<&str> = text[302].split_whitespace().collect();
    assert_eq!(end[..2], [bytes.len().to_string().as_str(), "END"]);

    let json = objects(&["log", "dump", "--json", path]);
    assert_eq!(json[0]["form"], "rocksdb");
    assert_eq!(json[11]["batch"]["sequence"], 21);
    assert_eq!(json[11]["batch"]["ops"][0]["key"], "key00010");
    assert_eq!(json[11]["batch"]["ops"][0]["value_bytes"], 10);
    assert_eq!(json[11]["batch"]["ops"][1]["op"], "DELETE");
    assert_eq!(json[11]["end"], ends[10]);
    assert_eq!(
        objects(&["log", "dump", "--json", "--limit", "5", path]).len(),
        6
    );
}

#[test]
fn the_physical_list_accounts_for_every_byte() {
    let home = tempfile::tempdir().unwrap();
    let (file, bytes, _) = rocksdb_file(home.path());
    let (_data, directory) = data_with_log(5_000);
    let segment = directory.join("00000000000000000001.log");
    for (path, length) in [
        (&file, bytes.len() as u64),
        (&segment, segment.metadata().unwrap().len()),
    ] {
        let path = path.to_str().unwrap();
        let mut sum = 0;
        for row in objects(&["log", "dump", "--json", "--physical", path]) {
            let number = |name: &str| row[name].as_u64().unwrap();
            sum += match row["event"].as_str().unwrap() {
                "physical" => number("header_bytes") + number("bytes"),
                "padding" => number("bytes"),
                "end" => number("unused_bytes"),
                _ => 0,
            };
        }
        assert_eq!(sum, length, "{path}");
    }
}

#[test]
fn entries_of_dunlin_are_understood() {
    let entry = |kind, value: &'static [u8]| Entry {
        kind,
        copy: false,
        from: 3,
        partition: 17,
        keyspace: 4,
        stamp: Stamp::new(Version(0x10000), Origin(2)),
        logged: None,
        expiry_ms: None,
        is_expiry: false,
        replaces: None,
        key: Bytes::from_static(b"dun\xfflin"),
        value: Bytes::from_static(value),
    };
    let payloads = [entry(Kind::Put, b"wader"), entry(Kind::Delete, b"")].map(|it| it.encode());
    let (_home, directory) = data_with(payloads.to_vec());
    let file = directory.join("00000000000000000001.log");
    let path = file.to_str().unwrap();
    let text = lines(&["log", "dump", path]).join("\n");
    for part in [
        "Dunlin segment 1, blocks of 32KiB, fragment",
        "HEADER",
        "segment 1, first index 1, blocks of 32KiB, fragment, compression none, direct I/O off, previous 0 bytes",
        "\"preamble\"",
        "put keyspace 4 partition 17 \"dun\\xfflin\" value 5 bytes at 0000000000010000-0000000000000002",
        "delete keyspace 4",
        "reserved and unused",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    let json = objects(&["log", "dump", "--json", path]);
    let put = json
        .iter()
        .find(|row| row["entry"]["kind"] == "put")
        .unwrap();
    assert_eq!(put["entry"]["key_base64"], "ZHVu/2xpbg==");
    assert_eq!(put["entry"]["keyspace"], 4);
    assert_eq!(put["entry"]["value_bytes"], 5);
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("000007.log");
    std::fs::write(&file, rocksdb_log(6_000, 32 << 10).0).unwrap();
    let mut child = dunlin(&["log", "dump", file.to_str().unwrap()])
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::with_capacity(16, child.stdout.take().unwrap())
        .read_line(&mut first)
        .unwrap();
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success());
    assert_eq!(String::from_utf8(ended.stderr).unwrap(), "");
}

#[test]
fn stat_adds_up_files_and_directories() {
    let home = tempfile::tempdir().unwrap();
    let (file, bytes, _) = rocksdb_file(home.path());
    std::fs::write(home.path().join("000008.log"), "").unwrap();
    let path = file.to_str().unwrap();
    let one = run(&["log", "stat", "--json", path]).ok().json();
    let it = &one["files"][0];
    let values: u64 = (0..300).sum();
    assert_eq!(it["records"], 300);
    assert_eq!(it["write_batches"], 300);
    assert_eq!(it["operations"], 600);
    assert_eq!(it["key_bytes"], 300 * (8 + 4));
    assert_eq!(it["value_bytes"], values);
    assert_eq!(it["used_bytes"], bytes.len());
    let payload = it["payload_bytes"].as_u64().unwrap();
    assert_eq!(
        payload + it["header_bytes"].as_u64().unwrap() + it["tail_bytes"].as_u64().unwrap(),
        bytes.len() as u64
    );
    let amplification = it["write_amplification"].as_f64().unwrap();
    assert!((amplification - bytes.len() as f64 / payload as f64).abs() < 1e-9);
    let user = it["user_amplification"].as_f64().unwrap();
    assert!((user - bytes.len() as f64 / (values + 3600) as f64).abs() < 1e-9);

    // The directory holds an empty log as well: RocksDB has just begun it.
    let both = run(&["log", "stat", "--json", home.path().to_str().unwrap()])
        .ok()
        .json();
    assert_eq!(both["files"].as_array().unwrap().len(), 2);
    assert_eq!(both["sum"]["records"], 300);

    let (data, _) = data_with_log(100);
    let text = lines(&["log", "stat", data.path().to_str().unwrap(), path]);
    assert!(
        text[0].starts_with("FILE") && text[0].ends_with("WRITTEN"),
        "{text:?}"
    );
    let sum: Vec<&str> = text[3].split_whitespace().collect();
    assert_eq!(sum[..3], ["sum", "whole", "401"]);
    assert!(
        text[4].starts_with("1 segment: blocks of 32KiB, fragment")
            && text[6].starts_with("write batches: 300 with 600 operations"),
        "{text:?}"
    );
}

#[test]
fn a_log_of_another_block_size_is_read_when_that_is_said() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("000007.log");
    // Of so many blocks some end with a tail, which larger blocks would not have there.
    std::fs::write(&file, rocksdb_log(3_000, 8 << 10).0).unwrap();
    let path = file.to_str().unwrap();
    run(&["log", "check", path, "--block-size", "8KiB"]).ok();
    let ended = run(&["log", "check", path]);
    assert_eq!(ended.complaint(1), format!("damaged: {path}"));
    let wrong = run(&["log", "stat", path, "--block-size", "5000"]);
    assert!(
        wrong.complaint(2).starts_with("block size 5000: "),
        "{}",
        wrong.stderr
    );
}

#[test]
fn check_tells_a_torn_end_from_damage_in_a_file() {
    let home = tempfile::tempdir().unwrap();
    let (file, bytes, ends) = rocksdb_file(home.path());
    let path = file.to_str().unwrap();
    let (_data, directory) = data_with_log(100);
    let segment = directory.join("00000000000000000001.log");
    let whole = run(&["log", "check", path, segment.to_str().unwrap()]).ok();
    assert!(
        whole
            .text()
            .contains(&format!("{path}: whole, 300 records"))
    );
    assert!(whole.text().contains("whole, 101 records"));

    std::fs::write(&file, &bytes[..ends[298] + 20]).unwrap();
    let torn = run(&["log", "check", path]).ok();
    assert!(torn.text().contains("torn, 299 records"), "{}", torn.text());
    assert!(
        torn.text()
            .contains("torn end: the file ends within a record")
    );

    let mut changed = bytes.clone();
    changed[ends[50] + 30] ^= 4;
    std::fs::write(&file, &changed).unwrap();
    for place in [path, home.path().to_str().unwrap()] {
        let damaged = run(&["log", "check", place]);
        assert_eq!(damaged.complaint(1), format!("damaged: {path}"));
        let line = format!("  at byte {}: damage: checksum mismatch", ends[50]);
        assert!(damaged.text().contains(&line), "{}", damaged.text());
    }
    let json = run(&["log", "check", "--json", path]).json();
    assert_eq!(json["verdict"], "damaged");
    assert_eq!(json["damages"][0]["offset"], ends[50]);
    // Dump goes on behind it.
    let text = lines(&["log", "dump", path]);
    assert!(text.iter().any(|line| line.contains("DAMAGE")));
    assert!(text.iter().any(|line| line.contains("key00299")));
}

#[test]
fn what_is_no_log_is_one_clear_line() {
    let home = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let file = home.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let text = write("notes.txt", b"turnstone, knot, dunlin, sanderling\n");
    let empty = write("empty.log", b"");
    let table = write("000012.sst", b"\0\x08\x05key00001value\0\0\0\0\0");
    let missing = home.path().join("missing.log");
    let missing = missing.to_str().unwrap();
    for verb in ["dump", "stat", "check"] {
        let complaint = |path: &str| run(&["log", verb, path]).complaint(1).to_owned();
        assert_eq!(
            complaint(&text),
            format!("{text}: not a log: no record of Dunlin, RocksDB or LevelDB at its beginning")
        );
        assert_eq!(complaint(&empty), format!("{empty}: the file is empty"));
        assert_eq!(
            complaint(&table),
            format!("{table}: not a log but a table; sst_dump reads it")
        );
        assert!(complaint(missing).starts_with(&format!("{missing}: No such file")));
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    for verb in ["stat", "check"] {
        assert_eq!(
            run(&["log", verb, path]).complaint(3),
            format!("no log in {path}")
        );
    }
    assert!(
        run(&["log", "dump", path])
            .complaint(1)
            .contains("directory")
    );
    assert!(run(&["log", "dump"]).stderr.contains("FILE"));
}

/// Debian's db_bench makes the directory; what it was asked for is what is counted.
#[test]
fn a_directory_of_rocksdb_is_read() {
    let home = tempfile::tempdir().unwrap();
    let database = home.path().join("db");
    let made = Command::new("db_bench")
        .args([
            "--benchmarks=fillrandom",
            "--num=2000",
            "--key_size=16",
            "--value_size=128",
        ])
        .arg(format!("--db={}", database.display()))
        .output()
        .expect("no db_bench: scripts/setup.sh installs rocksdb-tools");
    assert!(made.status.success());
    let path = database.to_str().unwrap();
    run(&["log", "check", path]).ok();
    let sum = run(&["log", "stat", "--json", path]).ok().json();
    assert_eq!(sum["sum"]["operations"], 2000);
    assert_eq!(sum["sum"]["key_bytes"], 32_000);
    assert_eq!(sum["sum"]["value_bytes"], 256_000);
    // Its tables are none.
    assert_eq!(sum["files"].as_array().unwrap().len(), 1);
}
