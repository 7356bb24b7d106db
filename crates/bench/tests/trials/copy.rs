//! The whole of `dunlin-bench copy`, small: structure, counting, and what is written. Not times.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use clap::Parser;
use dunlin_bench::copy::plan::Plan;
use dunlin_bench::copy::report::model::Report;
use dunlin_bench::copy::way::Way;
use dunlin_bench::copy::{self, Session, report};
use dunlin_bench::interrupt::Interrupt;
use dunlin_bench::options::{CopyOptions, Options, Table};
use dunlin_bench::program;

/// One at a time: they look for free ports at the same place.
static ALONE: Mutex<()> = Mutex::new(());

/// The programs that are measured: those of Debian, and the `dunlin` that was built beside these
/// tests. A build of this package alone has none.
fn dunlin() -> Option<PathBuf> {
    let dunlin = Path::new(env!("CARGO_BIN_EXE_dunlin-bench")).with_file_name("dunlin");
    let missing = ["db_bench", "rsync", "cp", "fio", "iperf3"]
        .iter()
        .find(|name| program::find(name).is_none());
    if let Some(missing) = missing {
        eprintln!("skipped: no {missing}");
        return None;
    }
    let is_there = dunlin.is_file();
    if !is_there {
        eprintln!("skipped: no {}", dunlin.display());
    }
    is_there.then_some(dunlin)
}

fn options(arguments: &[&str]) -> CopyOptions {
    let all = ["dunlin-bench", "copy"].iter().chain(arguments);
    match Options::parse_from(all).table {
        Table::Copy(options) => options,
        _ => panic!("another table"),
    }
}

fn run(dunlin: &Path, data: &Path, arguments: &[&str]) -> Report {
    let (dunlin, data) = (dunlin.display().to_string(), data.display().to_string());
    let mut all = vec!["--quick", "--dunlin", &dunlin, "--data-dir", &data];
    all.extend(arguments);
    let session = Session::new(&options(&all), Interrupt::default()).unwrap();
    copy::run(&session, "2026-11-21 10:00 UTC", "test").unwrap()
}

#[test]
fn every_way_copies_the_source_and_all_of_it_is_reported() {
    let Some(dunlin) = dunlin() else { return };
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let data = tempfile::tempdir().unwrap();
    let report = run(
        &dunlin,
        data.path(),
        &["--values", "256", "--long-size", "32MB"],
    );
    assert_eq!(data.path().read_dir().unwrap().count(), 0, "nothing stays");

    let [case] = &report.cases[..] else {
        panic!("one source");
    };
    let pairs = (64 << 20) / (16 + 256);
    assert_eq!((case.holds.pairs, case.holds.bytes), (pairs, pairs * 272));
    assert!(case.holds.file_bytes > case.holds.bytes);
    assert!(
        case.holds.file_bytes < case.holds.bytes * 11 / 10,
        "each key once, compacted: {:?}",
        case.holds
    );
    let ways: Vec<Way> = case.ways.iter().map(|copies| copies.way).collect();
    assert_eq!(ways, Way::ALL);
    for copies in &case.ways {
        assert_eq!(copies.taken.runs.len(), 2, "{:?}", copies.way);
        let has_receiver = copies.way != Way::Cp;
        for run in &copies.taken.runs {
            // The rate is by keys and values, not by files.
            let bytes = run.bytes_per_s * run.duration_s;
            assert!((bytes - case.holds.bytes as f64).abs() < 1.0);
            assert!(run.sync_s <= run.duration_s);
            // cp may be through before it was looked at twice.
            let is_seen = run.sender.peak_bytes > 500_000 || copies.way == Way::Cp;
            assert!(is_seen, "{:?}", copies.way);
            let receiver = run.receiver.map(|side| side.peak_bytes > 500_000);
            assert_eq!(receiver, has_receiver.then_some(true), "{:?}", copies.way);
            assert_eq!(run.rates.is_some(), has_receiver);
        }
    }
    assert_eq!(case.bounds.len(), 2);
    assert!(
        case.bounds
            .iter()
            .all(|bounded| bounded.bytes_per_s.min > 1e6)
    );
    let long = report.long.as_ref().unwrap();
    assert_eq!(long.holds.pairs, 32_000_000 / 272);
    assert!(long.ways.iter().all(|copies| copies.taken.runs.len() == 1));
    let connections: Vec<usize> = report
        .settings
        .iter()
        .map(|setting| setting.call.connections)
        .collect();
    assert_eq!(connections, [1, 4, 4, 4]);

    let out = data.path().join("out");
    let names = report::write(&report, &out).unwrap();
    let wanted = ["json", "md", "svg", "png"].map(|ending| format!("copy.{ending}"));
    assert_eq!(names[..4], wanted);
    assert_eq!(names[4..], ["copy-time.svg", "copy-time.png"]);
    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    let text = read("copy.md");
    for wanted in [
        "A quick run",
        "246723 pairs with values of 256 B, 0.067 GB of keys and values",
        "| files over rsync, values of 256 B ",
        "| files ",
        "| ingest ",
        "| insert ",
        "| rsync ",
        "| cp ",
        "| disk alone (fio) ",
        "## A larger database",
        "117647 pairs",
        "| loopback alone (iperf3) ",
        "![Copying, MB/s",
        "(copy-time.svg)",
        "page cache",
    ] {
        assert!(text.contains(wanted), "{wanted} in {text}");
    }
    let json: serde_json::Value = serde_json::from_str(&read("copy.json")).unwrap();
    assert_eq!(json["cases"][0]["ways"][1]["way"], "ingest");
    assert_eq!(
        json["cases"][0]["ways"][1]["runs"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(json["settings"][0]["connections"], 1);
    assert!(read("copy.svg").contains("values of 256 B, rsync"));
}

#[test]
fn a_copy_that_loses_pairs_is_no_result() {
    let Some(dunlin) = dunlin() else { return };
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let data = tempfile::tempdir().unwrap();
    // Says that it copied one pair less than it did.
    let liar = data.path().join("dunlin");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = copy ] || exec {0} \"$@\"\n\
         {0} \"$@\" | sed 's/\"pairs\":246723/\"pairs\":246722/'\n",
        dunlin.display()
    );
    std::fs::write(&liar, script).unwrap();
    Command::new("chmod").arg("+x").arg(&liar).status().unwrap();
    let (dunlin, at) = (
        liar.display().to_string(),
        data.path().display().to_string(),
    );
    let all = [
        "--quick",
        "--dunlin",
        &dunlin,
        "--data-dir",
        &at,
        "--values",
        "256",
    ];
    let session = Session::new(&options(&all), Interrupt::default()).unwrap();
    let error = copy::run(&session, "", "").unwrap_err().to_string();
    assert!(error.contains("246722"), "{error}");
    drop(session);
    assert_eq!(data.path().read_dir().unwrap().count(), 1, "nothing stays");
}

#[test]
fn a_full_disk_and_a_missing_program_are_told_before_anything_is_made() {
    let data = tempfile::tempdir().unwrap();
    let bench = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_dunlin-bench"))
            .args(["copy", "--quick", "--data-dir"])
            .arg(data.path())
            .args(arguments)
            .output()
            .unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let said = bench(&["--dunlin", "/nonexistent/dunlin"]);
    assert!(said.contains("no dunlin binary at /nonexistent"), "{said}");
    if program::find("db_bench").is_some() {
        let me = env!("CARGO_BIN_EXE_dunlin-bench");
        let said = bench(&["--dunlin", me, "--size", "900000GB"]);
        assert!(said.contains("GB are needed"), "{said}");
    }
    assert_eq!(data.path().read_dir().unwrap().count(), 0);
}

#[test]
fn ctrl_c_ends_it_with_both_sides_and_removes_what_it_made() {
    let Some(dunlin) = dunlin() else { return };
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let data = tempfile::tempdir().unwrap();
    let mut bench = Command::new(env!("CARGO_BIN_EXE_dunlin-bench"))
        .args(["copy", "--quick", "--repeats", "100", "--data-dir"])
        .arg(data.path())
        .arg("--dunlin")
        .arg(&dunlin)
        .arg("--out")
        .arg(data.path().join("out"))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(bench.stderr.take().unwrap()).lines();
    let is_copying = |line: &std::io::Result<String>| line.as_ref().unwrap().contains("files:");
    lines.find(is_copying).unwrap().unwrap();
    let pid = rustix::process::Pid::from_raw(bench.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(!bench.wait().unwrap().success());
    assert_eq!(rest.last().unwrap(), "dunlin-bench: interrupted");
    assert_eq!(data.path().read_dir().unwrap().count(), 0);
}

#[test]
fn options_are_those_of_the_issue() {
    let full = options(&[]);
    assert_eq!(full.out(), Path::new("docs/results"));
    let plan = Plan::of(&full);
    assert_eq!((plan.size_bytes, plan.repeats), (2 << 30, 5));
    assert_eq!(plan.value_bytes, [128, 256, 512, 1024]);
    assert_eq!(plan.connections, [1, 2, 4, 8]);
    assert_eq!((plan.long_size_bytes, plan.long_repeats), (8 << 30, 2));
    let (all, one) = (4 * (2 << 30) + (8 << 30), 8 << 30);
    assert_eq!(plan.room_bytes(false), 20 << 30);
    assert_eq!(plan.room_bytes(true), all + one * 3 / 2);
    let asked = Plan::of(&options(&[
        "--size",
        "1GB",
        "--values",
        "64",
        "--repeats",
        "3",
    ]));
    assert_eq!((asked.size_bytes, asked.repeats), (1_000_000_000, 3));
    assert_eq!(asked.value_bytes, [64]);
    assert_eq!(options(&["--quick"]).out(), Path::new("target/bench"));
}
