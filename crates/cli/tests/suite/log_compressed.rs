//! log dump, stat and check of segments that say how they were written, compressed ones above all.

use std::path::{Path, PathBuf};

use crate::log_data::write_segment;
use crate::support::run;
use bytes::Bytes;
use dunlin_entry::{Entry, Kind, Origin, Stamp, Version};
use dunlin_log::disk::{Disk, RealDisk};
use dunlin_log::{Compression, Options, Padding};
use serde_json::{Value, json};

const VALUE_BYTES: usize = 1000;

fn entries(from: usize, count: usize) -> Vec<Bytes> {
    let entry = |number: usize| Entry {
        kind: Kind::Put,
        copy: false,
        from: 1,
        partition: 5,
        keyspace: 4,
        stamp: Stamp::new(Version(1 << 16), Origin(2)),
        logged: None,
        expiry_ms: None,
        is_expiry: false,
        replaces: None,
        key: Bytes::from(format!("key{number:05}")),
        value: Bytes::from(vec![b'v'; VALUE_BYTES]),
    };
    (from..from + count)
        .map(|number| entry(number).encode())
        .collect()
}

/// Whether the file system allows direct I/O.
fn direct() -> bool {
    let file = tempfile::NamedTempFile::new().unwrap();
    RealDisk.open_direct(file.path()).unwrap().is_some()
}

/// Three segments: lz4 in small padded blocks, zstd with direct I/O, and nothing compressed.
fn data() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("shard-0/log");
    let lz4 = Options {
        block_size_bytes: 4 << 10,
        padding: Padding::Pad,
        compression: Compression::Lz4,
        ..Options::default()
    };
    write_segment(&directory, lz4, entries(0, 400));
    let zstd = Options {
        compression: Compression::Zstd,
        direct_io: true,
        ..Options::default()
    };
    write_segment(&directory, zstd, entries(400, 100));
    write_segment(&directory, Options::default(), entries(500, 10));
    (home, directory)
}

fn segment(directory: &Path, number: u64) -> String {
    let file = directory.join(format!("{number:020}.log"));
    file.to_str().unwrap().to_owned()
}

fn settings(block_size_bytes: u32, padding: &str, compression: &str) -> Value {
    json!({
        "block_size_bytes": block_size_bytes, "padding": padding, "compression": compression,
        "direct_io": false,
    })
}

fn rows(arguments: &[&str]) -> Vec<Value> {
    let ended = run(arguments).ok();
    let lines = ended.text().lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn of_event<'a>(rows: &'a [Value], event: &str) -> Vec<&'a Value> {
    rows.iter().filter(|row| row["event"] == event).collect()
}

#[test]
fn dump_lists_settings_and_the_records_in_batches() {
    let (_home, directory) = data();
    let path = segment(&directory, 1);
    let all = rows(&["log", "dump", "--json", &path]);
    assert_eq!(all[0]["settings"], settings(4096, "pad", "lz4"));
    let header = &of_event(&all, "own")[0]["header"];
    assert_eq!(header["compression"], "lz4");
    assert_eq!(header["direct_io"], false);

    // 256 KiB of records at most make a batch: the preamble, then two.
    let records = of_event(&all, "record");
    assert_eq!(records.len(), 3);
    let batched = of_event(&all, "batched_record");
    assert_eq!(batched.len(), 400);
    let length = entries(0, 1)[0].len();
    let mut at = 0;
    for batch in &records[1..] {
        let head = &batch["compressed_batch"];
        let count = head["records"].as_u64().unwrap() as usize;
        assert_eq!(head["codec"], "lz4");
        assert_eq!(head["payload_bytes"], count * length);
        assert_eq!(head["raw_bytes"], count * (length + 4));
        let compressed = head["compressed_bytes"].as_u64().unwrap();
        assert_eq!(batch["bytes"], compressed + 9);
        assert!(compressed < (count * length) as u64 / 10);
        for place in 1..=count {
            let row = batched[at];
            assert_eq!(row["batch_offset"], batch["offset"]);
            assert_eq!(
                (&row["place"], &row["bytes"]),
                (&json!(place), &json!(length))
            );
            assert_eq!(row["entry"]["key"], format!("key{at:05}"));
            assert_eq!(row["entry"]["value_bytes"], VALUE_BYTES);
            at += 1;
        }
    }
    assert_eq!(at, 400);

    // The preamble and six of the first batch.
    let few = rows(&["log", "dump", "--json", "--limit", "7", &path]);
    assert_eq!(of_event(&few, "batched_record").len(), 6);
    assert!(of_event(&few, "end").is_empty());

    let text = run(&["log", "dump", &path]).ok();
    let first = text.text().lines().next().unwrap();
    assert!(
        first.ends_with("Dunlin segment 1, blocks of 4KiB, pad, compression lz4, direct I/O off"),
        "{first}"
    );
    let inside = |line: &&str| line.contains("  IN-BATCH ");
    assert_eq!(text.text().lines().filter(inside).count(), 400);
    let batch = format!(
        "{} records in lz4, ",
        records[1]["compressed_batch"]["records"]
    );
    assert!(text.text().contains(&batch), "no {batch}");
}

#[test]
fn stat_adds_up_what_compression_saved() {
    let (home, directory) = data();
    let told = run(&["log", "stat", "--json", home.path().to_str().unwrap()])
        .ok()
        .json();
    let mut zstd = settings(32_768, "fragment", "zstd");
    zstd["direct_io"] = direct().into();
    let wanted = [
        (settings(4096, "pad", "lz4"), 401, 2, 400),
        (zstd, 101, 1, 100),
        (settings(32_768, "fragment", "none"), 11, 0, 0),
    ];
    let length = entries(0, 1)[0].len();
    for (file, (settings, records, batches, batched)) in
        told["files"].as_array().unwrap().iter().zip(wanted)
    {
        assert_eq!(file["settings"], settings);
        assert_eq!(file["records"], records);
        assert_eq!(file["compressed_batches"], batches);
        assert_eq!(file["batched_records"], batched);
        assert_eq!(file["batch_raw_bytes"], batched * length);
        let number = |name: &str| file[name].as_u64().unwrap();
        let compressed = number("batch_compressed_bytes");
        assert!(compressed <= number("payload_bytes"));
        assert_eq!(compressed > 0, batched > 0);
        assert_eq!(number("compressed_records"), 0);
        // Each byte of the log for more than one that was given.
        assert_eq!(
            file["write_amplification"].as_f64().unwrap() < 0.2,
            batched > 0
        );
    }
    assert_eq!(told["sum"]["compressed_batches"], 3);
    assert_eq!(told["sum"]["batched_records"], 500);
    assert_eq!(told["sum"]["batch_raw_bytes"], 500 * length);
    assert_eq!(told["sum"].get("settings"), None);

    let again = segment(&directory, 3);
    let text = run(&["log", "stat", home.path().to_str().unwrap(), &again]).ok();
    let direct = if direct() { "on" } else { "off" };
    for line in [
        "1 segment: blocks of 4KiB, pad, compression lz4, direct I/O off\n",
        &format!("1 segment: blocks of 32KiB, fragment, compression zstd, direct I/O {direct}\n"),
        "2 segments: blocks of 32KiB, fragment, compression none, direct I/O off\n",
        "\ncompressed: 500 records in 3 batches, ",
        "\nrecords and batches in pieces: ",
    ] {
        assert!(text.text().contains(line), "no {line:?} in {}", text.text());
    }
}

#[test]
fn check_tells_the_same_of_a_directory_and_of_its_files() {
    let (home, directory) = data();
    let whole = run(&["log", "check", "--json", home.path().to_str().unwrap()])
        .ok()
        .json();
    for (number, segment_of) in (1..).zip(whole["segments"].as_array().unwrap()) {
        let file = run(&["log", "check", "--json", &segment(&directory, number)])
            .ok()
            .json();
        for name in [
            "settings",
            "records",
            "compressed_batches",
            "batched_records",
            "batch_raw_bytes",
            "batch_compressed_bytes",
        ] {
            assert!(!file[name].is_null(), "{name}");
            assert_eq!(file[name], segment_of[name], "{name}");
        }
    }
    assert_eq!(
        whole["segments"][0]["settings"],
        settings(4096, "pad", "lz4")
    );
    assert_eq!(whole["segments"][1]["batched_records"], 100);
    let text = run(&["log", "check", home.path().to_str().unwrap()]).ok();
    let lines: Vec<&str> = text.text().lines().collect();
    assert_eq!(
        lines[1],
        "  1 segment: blocks of 4KiB, pad, compression lz4, direct I/O off"
    );
    assert!(lines[4].starts_with("  compressed: 500 records in 3 batches, "));
    let text = run(&["log", "check", &segment(&directory, 2)]).ok();
    let lines: Vec<&str> = text.text().lines().collect();
    assert!(lines[1].starts_with("  blocks of 32KiB, fragment, compression zstd, direct I/O o"));
    assert!(
        lines[2].starts_with("  compressed: 100 records in 1 batches, "),
        "{lines:?}"
    );
}
