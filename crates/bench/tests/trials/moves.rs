//! The whole of `dunlin-bench move`, small: structure, counting, and what is written. Not times.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use clap::Parser;
use dunlin_bench::interrupt::Interrupt;
use dunlin_bench::moves::{self, Session, report};
use dunlin_bench::options::{MoveOptions, Options, Table};
use dunlin_bench::program;

/// One at a time: they look for free ports at the same place.
static ALONE: Mutex<()> = Mutex::new(());

/// The `dunlin` that was built beside these tests, where there is an etcd for it. A build of this
/// package alone has none.
fn dunlin() -> Option<PathBuf> {
    if program::find("etcd").is_none() {
        eprintln!("skipped: no etcd");
        return None;
    }
    let dunlin = Path::new(env!("CARGO_BIN_EXE_dunlin-bench")).with_file_name("dunlin");
    let is_there = dunlin.is_file();
    if !is_there {
        eprintln!("skipped: no {}", dunlin.display());
    }
    is_there.then_some(dunlin)
}

fn options(dunlin: &Path, data: &Path, more: &[&str]) -> MoveOptions {
    let (dunlin, data) = (dunlin.display().to_string(), data.display().to_string());
    let fixed = [
        "dunlin-bench",
        "move",
        "--quick",
        "--size",
        "6MB",
        "--rate",
        "200",
    ];
    let named = ["--rest", "1", "--dunlin", &dunlin, "--data-dir", &data];
    let all = fixed.iter().chain(&named).chain(more);
    match Options::parse_from(all).table {
        Table::Move(options) => options,
        _ => panic!("another table"),
    }
}

#[test]
fn a_node_joins_and_one_is_drained_and_all_of_it_is_reported() {
    let Some(dunlin) = dunlin() else { return };
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let data = tempfile::tempdir().unwrap();
    let options = options(&dunlin, data.path(), &["--cases", "bounded,idle"]);
    let session = Session::new(&options, Interrupt::default()).unwrap();
    let keys = session.plan().keys;
    assert_eq!(keys, 6_000_000 / 1_016);
    let report = moves::run(&session, "2026-11-21 10:00 UTC", "test").unwrap();
    assert_eq!(data.path().read_dir().unwrap().count(), 0, "nothing stays");

    let [clients, idle] = &report.cases[..] else {
        panic!("two cases")
    };
    for case in [clients, idle] {
        let [run] = &case.runs[..] else {
            panic!("one run")
        };
        let [add, drain] = &run.moves[..] else {
            panic!("two moves")
        };
        assert_eq!(add.step, "add n4");
        assert!(drain.step.starts_with("drain n"), "{}", drain.step);
        // The new node takes a copy of three quarters of all keys, or thereabouts; who is drained
        // gives away as many as it has.
        for moved in [add, drain] {
            let share = moved.records as f64 / keys as f64;
            assert!((0.4..1.01).contains(&share), "{} moves {share}", moved.step);
            assert!((moved.bytes as f64 / moved.records as f64 - 1_016.0).abs() < 1.0);
            assert!(moved.parts > 20 && moved.copy_s <= moved.duration_s);
            assert!(
                moved
                    .looks
                    .windows(2)
                    .all(|two| two[0].bytes <= two[1].bytes)
            );
        }
        let parts: Vec<&str> = run.parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(parts, ["before", "add n4", "between", &drain.step, "after"]);
        assert!(
            run.parts
                .windows(2)
                .all(|two| two[0].end_s == two[1].begin_s)
        );
        let held: Vec<u64> = run.verified.copies_by_node.iter().map(|by| by.1).collect();
        assert_eq!(
            held,
            [keys + 1, keys + 1, keys + 1, 0],
            "with that of the start"
        );
        assert_eq!(run.verified.keys_read, keys);
    }
    let run = &clients.runs[0];
    assert_eq!((run.failures.as_str(), clients.failed().0), ("", 0));
    assert!(run.verified.overwrites > 500);
    assert!(run.parts.iter().all(|part| part.felt.unwrap().requests > 0));
    let requests: u64 = run.seconds.iter().map(|second| second.felt.requests).sum();
    // A few may come between the end of the last part and that of the load.
    let in_parts = clients.failed().1;
    assert!((in_parts..in_parts + 50).contains(&requests), "{requests}");
    // The first request is meant to start at once, and so are 200 in each second.
    let full = &run.seconds[1..run.seconds.len() - 1];
    assert!(
        full.iter().all(|second| second.felt.requests == 200),
        "{full:?}"
    );
    assert!(idle.felt.is_empty() && idle.runs[0].seconds.is_empty());

    let out = data.path().join("out");
    let names = report::write(&report, &out).unwrap();
    let wanted = ["json", "md", "svg", "png"].map(|ending| format!("move.{ending}"));
    assert_eq!(names[..4], wanted);
    assert_eq!(names[4..], ["move-rate.svg", "move-rate.png"]);
    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    let text = read("move.md");
    for wanted in [
        "A quick run",
        "5905 keys of 16 B with values of 1000 B",
        "| clients, bounded, sync never: p99 during add n4 ",
        " at most 20 ms |",
        "requests that failed",
        "## Clients, bounded, sync never",
        "| before ",
        "| between ",
        "## No clients, sync never",
        "CPU s/GB",
        "no coordinated omission",
        "keys read back",
    ] {
        assert!(text.contains(wanted), "{wanted} in {text}");
    }
    let json: serde_json::Value = serde_json::from_str(&read("move.json")).unwrap();
    assert_eq!(json["cases"][0]["pacing"], "bounded");
    assert_eq!(json["cases"][0]["steps"][0]["step"], "add n4");
    assert_eq!(json["plan"]["rest_s"], 1.0);
    assert!(json["cases"][0]["runs"][0]["seconds"][0]["latency_us_p99"].is_u64());
    let svg = read("move.svg");
    assert!(svg.contains("add n4") && svg.contains("p99 of each second"));
}

#[test]
fn a_node_that_loses_a_key_is_no_result() {
    let Some(dunlin) = dunlin() else { return };
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let data = tempfile::tempdir().unwrap();
    // Counts one record less than there are.
    let liar = data.path().join("dunlin");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = copy ] || exec {0} \"$@\"\n\
         {0} \"$@\" | sed 's/\"pairs\":5906/\"pairs\":5905/'\n",
        dunlin.display()
    );
    std::fs::write(&liar, script).unwrap();
    Command::new("chmod").arg("+x").arg(&liar).status().unwrap();
    let options = options(&liar, data.path(), &["--cases", "idle"]);
    let session = Session::new(&options, Interrupt::default()).unwrap();
    let error = moves::run(&session, "", "").unwrap_err().to_string();
    assert!(error.contains("holds 5905 keys and not 5906"), "{error}");
    assert_eq!(data.path().read_dir().unwrap().count(), 1, "nothing stays");
}

#[test]
fn ctrl_c_ends_it_while_clients_are_at_work() {
    let Some(dunlin) = dunlin() else { return };
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let data = tempfile::tempdir().unwrap();
    let mut bench = Command::new(env!("CARGO_BIN_EXE_dunlin-bench"))
        .args([
            "move",
            "--quick",
            "--size",
            "6MB",
            "--rest",
            "600",
            "--data-dir",
        ])
        .arg(data.path())
        .arg("--dunlin")
        .arg(&dunlin)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(bench.stderr.take().unwrap()).lines();
    let is_filled = |line: &std::io::Result<String>| line.as_ref().unwrap().contains("filled in");
    lines.find(is_filled).unwrap().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(2));
    let pid = rustix::process::Pid::from_raw(bench.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(!bench.wait().unwrap().success());
    assert_eq!(rest.last().unwrap(), "dunlin-bench: interrupted");
    assert_eq!(data.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_missing_binary_is_told_before_anything_is_made() {
    let data = tempfile::tempdir().unwrap();
    let options = options(Path::new("/no/such/dunlin"), data.path(), &[]);
    let error = Session::new(&options, Interrupt::default()).unwrap_err();
    let said = error.to_string();
    assert!(
        said.starts_with("no dunlin binary at /no/such/dunlin"),
        "{said}"
    );
    assert_eq!(data.path().read_dir().unwrap().count(), 0);
}
