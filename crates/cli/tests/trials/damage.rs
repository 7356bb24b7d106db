//! Bytes that changed on a disk: named, never served, mended from the other replicas.

// Tests stand outside the simulation: processes, sockets, files and time are real.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use crate::harness::child::dunlin;
use crate::harness::eventually;
use crate::harness::flock::Flock;
use crate::harness::load::{Ledger, Writer, verify, verify_within};

/// Turns the bits of `count` bytes from `offset`.
fn flip(file: &Path, offset: u64, count: usize) {
    let mut opened = std::fs::File::options()
        .read(true)
        .write(true)
        .open(file)
        .unwrap();
    let mut bytes = vec![0; count];
    opened.seek(SeekFrom::Start(offset)).unwrap();
    opened.read_exact(&mut bytes).unwrap();
    bytes.iter_mut().for_each(|byte| *byte = !*byte);
    opened.seek(SeekFrom::Start(offset)).unwrap();
    opened.write_all(&bytes).unwrap();
}

/// Files below a shard's directory with this extension, in order.
fn files(flock: &Flock, index: usize, part: &str, extension: &str) -> Vec<PathBuf> {
    let directory = flock.nodes[index].data.join("shard-0").join(part);
    let entries = std::fs::read_dir(&directory).unwrap();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    files
}

fn load(flock: &Flock, name: &str, writes: usize) -> Ledger {
    let addresses = flock.addresses();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|number| {
                let writer = Writer::new(&format!("{name}{number}"), &addresses, number + 21, 400);
                scope.spawn(move || writer.value_bytes(3_000).run_count(writes / 4))
            })
            .collect();
        let mut ledger = Ledger::default();
        for writer in writers {
            ledger.merge(writer.join().unwrap());
        }
        ledger
    })
}

fn log_command(verb: &str, data: &Path) -> Output {
    dunlin().args(["log", verb]).arg(data).output().unwrap()
}

/// Damages n3's log in the middle of what was synced, shows that it is found, and repairs it.
fn damaged_log(kill: bool) {
    let mut flock = Flock::start(&["--segment", "1MiB", "--retention", "64MiB"]);
    let before = load(&flock, "before", 1_600);
    if kill {
        // What was in memory only is in the log only.
        flock.kill(2);
    } else {
        flock.stop(2);
    }
    let segments = files(&flock, 2, "log", "log");
    assert!(segments.len() >= 3, "{segments:?}");
    let data = flock.nodes[2].data.clone();
    assert!(
        log_command("check", &data).status.success(),
        "nothing is damaged yet"
    );
    let damaged = &segments[segments.len() / 2];
    let name = damaged.file_name().unwrap().to_str().unwrap().to_owned();
    flip(damaged, 300_000, 3);

    // The start refuses and says where.
    flock.spawn(2);
    let process = flock.nodes[2].process_mut();
    assert_eq!(process.ended(Duration::from_secs(30)), Some(1));
    let output = process.output();
    let last = output.lines().last().unwrap().to_owned();
    assert!(
        last.starts_with("dunlin: ") && last.contains(&name) && last.contains("offset"),
        "{last}"
    );
    let offset: u64 = last
        .split("offset ")
        .nth(1)
        .and_then(|rest| {
            rest.split(|c: char| !c.is_ascii_digit())
                .next()?
                .parse()
                .ok()
        })
        .unwrap_or_else(|| panic!("no offset in {last}"));
    assert!(
        (300_000 - (64 << 10)..=300_003).contains(&offset),
        "{offset}"
    );

    // The others answer, and take writes, meanwhile.
    let during = Writer::new("during", &flock.addresses()[..2], 31, 50).run_count(200);
    for ledger in [&before, &during] {
        verify(ledger, &flock.nodes[..2], "");
    }

    let checked = log_command("check", &data);
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert_eq!(checked.status.code(), Some(1));
    assert!(
        said.contains(&name) && said.contains(&offset.to_string()) && said.contains("damage"),
        "{said}"
    );
    let repaired = log_command("repair", &data);
    assert!(
        repaired.status.success(),
        "{}",
        String::from_utf8_lossy(&repaired.stderr)
    );
    let said = String::from_utf8_lossy(&repaired.stdout).into_owned();
    assert!(said.contains("kept"), "{said}");
    assert!(log_command("check", &data).status.success());

    flock.up(2);
    flock.wait_connected();
    for ledger in [&before, &during] {
        verify(ledger, &flock.nodes, "&ack=2");
        verify_within(ledger, &flock.nodes, "&ack=1", Duration::from_secs(40));
    }
    flock.kill(0);
    flock.kill(1);
    for ledger in [&before, &during] {
        verify(ledger, &flock.nodes[2..], "&ack=1");
    }
}

#[test]
fn a_damaged_log_is_refused_repaired_and_filled_again_after_a_crash() {
    damaged_log(true);
}

#[test]
fn a_damaged_log_is_refused_repaired_and_filled_again_after_a_clean_stop() {
    damaged_log(false);
}

#[test]
fn a_log_of_which_a_repair_leaves_nothing_begins_anew() {
    let mut flock = Flock::start(&[
        "--segment",
        "1MiB",
        "--flush",
        "1MiB",
        "--retention",
        "2MiB",
    ]);
    let before = load(&flock, "anew", 2_400);
    // What the log no longer holds is in the store alone.
    eventually("old segments go", Duration::from_secs(40), || {
        let first = &files(&flock, 2, "log", "log")[0];
        !first.ends_with("00000000000000000001.log")
    });
    flock.stop(2);
    flip(&files(&flock, 2, "log", "log")[0], 8, 1);
    flock.spawn(2);
    let process = flock.nodes[2].process_mut();
    assert_eq!(process.ended(Duration::from_secs(30)), Some(1));
    let during = Writer::new("during", &flock.addresses()[..2], 33, 50).run_count(200);
    let repaired = log_command("repair", &flock.nodes[2].data.clone());
    let said = String::from_utf8_lossy(&repaired.stderr).into_owned();
    assert!(repaired.status.success(), "{said}");
    assert!(files(&flock, 2, "log", "log").is_empty());

    flock.up(2);
    flock.wait_connected();
    for ledger in [&before, &during] {
        verify(ledger, &flock.nodes, "&ack=2");
        verify_within(ledger, &flock.nodes, "&ack=1", Duration::from_secs(40));
    }
    flock.stop(2);
    flock.up(2);
    flock.kill(0);
    flock.kill(1);
    for ledger in [&before, &during] {
        verify(ledger, &flock.nodes[2..], "&ack=1");
    }
}

#[test]
fn damaged_data_is_never_served() {
    let mut flock = Flock::start(&["--segment", "1MiB", "--flush", "1MiB", "--cache", "1MiB"]);
    let ledger = load(&flock, "sst", 2_400);
    flock.stop(2);
    let tables = files(&flock, 2, "store", "sst");
    let tables: Vec<PathBuf> = tables
        .into_iter()
        .filter(|table| std::fs::metadata(table).unwrap().len() > 200_000)
        .collect();
    assert!(!tables.is_empty());
    for table in &tables {
        // Data comes first in a table; what is read at the start, behind it, stays whole.
        let length = std::fs::metadata(table).unwrap().len();
        for part in 1..6 {
            flip(table, length * part / 10, 2);
        }
    }
    flock.up(2);
    flock.wait_connected();
    // n3 asks itself first; what it cannot answer the others do.
    verify(&ledger, &flock.nodes, "&ack=1");
    verify(&ledger, &flock.nodes, "&ack=2");
    assert!(
        flock.nodes[2].metric("dunlin_damaged_reads_total") > 0.0,
        "no damage was met"
    );
    let output = flock.nodes[2].output();
    let names: Vec<&str> = tables
        .iter()
        .filter_map(|table| table.file_name()?.to_str())
        .collect();
    assert!(
        names.iter().any(|name| output.contains(name)),
        "no damaged file is named: {output}"
    );
    let whole = flock.nodes[0].request("GET", "/v0/entities?start=sst", b"");
    let other = flock.nodes[2].request("GET", "/v0/entities?start=sst&ack=1", b"");
    assert_eq!(whole.status, 200);
    assert!(
        whole.body == other.body,
        "a range through the damaged node differs"
    );
    let more = load(&flock, "more", 400);
    verify(&more, &flock.nodes, "&ack=2");
}

#[test]
fn a_table_cut_short_is_named_and_a_node_emptied_of_it_is_filled_again() {
    let mut flock = Flock::start(&["--segment", "1MiB", "--flush", "1MiB"]);
    let ledger = load(&flock, "cut", 1_600);
    flock.stop(2);
    let tables = files(&flock, 2, "store", "sst");
    let table = tables.last().unwrap();
    let file = std::fs::File::options().write(true).open(table).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    drop(file);
    flock.spawn(2);
    let process = flock.nodes[2].process_mut();
    assert_eq!(
        process.ended(Duration::from_secs(30)),
        Some(1),
        "{}",
        process.output()
    );
    let output = process.output();
    let last = output.lines().last().unwrap();
    let name = table.file_name().unwrap().to_str().unwrap();
    let stem = table.file_stem().unwrap().to_str().unwrap();
    assert!(
        last.starts_with("dunlin: ") && (last.contains(name) || last.contains(stem)),
        "{last}"
    );
    std::fs::remove_dir_all(&flock.nodes[2].data).unwrap();
    flock.up(2);
    flock.wait_connected();
    verify_within(&ledger, &flock.nodes, "&ack=1", Duration::from_secs(40));
    eventually("nothing is left to send", Duration::from_secs(20), || {
        flock.nodes[2]
            .followers()
            .iter()
            .all(|follower| follower["items_remaining"] == 0)
    });
}

#[test]
fn damage_in_what_a_start_reads_is_one_clear_line() {
    let mut flock = Flock::start(&["--flush", "1MiB", "--segment", "1MiB"]);
    let ledger = load(&flock, "start", 800);
    flock.stop(2);
    let data = flock.nodes[2].data.clone();
    let store = data.join("shard-0/store");
    let manifest = file_named(&store, "MANIFEST-");
    for (file, bytes) in [
        (data.join("node.json"), &b"{ not json"[..]),
        (data.join("node.json"), b""),
        (store.join("CURRENT"), b"MANIFEST-999999\n"),
        (manifest.clone(), b""),
        (
            manifest,
            b"no manifest at all, but quite a few bytes of something else",
        ),
    ] {
        let whole = std::fs::read(&file).unwrap();
        std::fs::write(&file, bytes).unwrap();
        let printed = flock.nodes[2].output().len();
        flock.spawn(2);
        let process = flock.nodes[2].process_mut();
        let code = process.ended(Duration::from_secs(30));
        let output = process.output().split_off(printed);
        assert_eq!(code, Some(1), "{}: {output}", file.display());
        let last = output.lines().last().unwrap();
        let place = if file.starts_with(&store) {
            &store
        } else {
            &file
        };
        assert!(
            last.starts_with("dunlin: ") && last.contains(place.to_str().unwrap()),
            "{}: {output}",
            file.display()
        );
        assert!(!output.contains("panicked"), "{output}");
        std::fs::write(&file, whole).unwrap();
    }
    flock.up(2);
    flock.wait_connected();
    verify_within(&ledger, &flock.nodes, "&ack=1", Duration::from_secs(20));
}

fn file_named(directory: &Path, prefix: &str) -> PathBuf {
    let mut entries = std::fs::read_dir(directory).unwrap();
    let found = entries.find_map(|entry| {
        let entry = entry.unwrap();
        let name = entry.file_name();
        name.to_str()?.starts_with(prefix).then(|| entry.path())
    });
    found.unwrap_or_else(|| panic!("no {prefix} in {}", directory.display()))
}
