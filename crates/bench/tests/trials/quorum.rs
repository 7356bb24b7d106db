//! The whole of `dunlin-bench quorum` against a stand-in for the store.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;
use dunlin_bench::error::BenchError;
use dunlin_bench::interrupt::Interrupt;
use dunlin_bench::load::http::Verb;
use dunlin_bench::options::{Options, QuorumOptions, Table};
use dunlin_bench::program;
use dunlin_bench::quorum::{self, Session};
use dunlin_bench::report;

fn stand_in() -> PathBuf {
    let me = std::env::current_exe().unwrap();
    let built = me.ancestors().nth(2).unwrap().join("examples/stand_in");
    assert!(built.is_file(), "cargo test builds {}", built.display());
    built
}

fn options(data: &Path, more: &[&str]) -> QuorumOptions {
    let (dunlin, data) = (stand_in(), data.to_owned());
    let fixed = ["dunlin-bench", "quorum", "--quick", "--connections", "2"];
    let all = fixed
        .iter()
        .chain(more)
        .map(|text| text.to_string())
        .chain([
            "--dunlin".into(),
            dunlin.display().to_string(),
            "--data-dir".into(),
            data.display().to_string(),
        ]);
    match Options::parse_from(all).table {
        Table::Quorum(options) => options,
        _ => panic!("another table"),
    }
}

/// As short as every part can be.
fn session(options: QuorumOptions, interrupt: Interrupt) -> Session {
    let ms = Duration::from_millis;
    let mut timing = options.timing();
    (timing.run, timing.run_warmup) = (ms(300), ms(100));
    (timing.probe, timing.probe_warmup) = (ms(100), ms(20));
    (timing.closed, timing.closed_warmup) = (ms(200), ms(50));
    (timing.probes_max, timing.rounds_max, timing.fill) = (2, 1, 500);
    Session::new(options, interrupt)
        .unwrap()
        .with_timing(timing)
}

fn entries(directory: &Path) -> usize {
    directory.read_dir().unwrap().count()
}

#[test]
fn every_table_is_filled_and_nothing_is_left_behind() {
    let data = tempfile::tempdir().unwrap();
    let out = tempfile::tempdir().unwrap();
    let session = session(options(data.path(), &[]), Interrupt::default());
    let report = quorum::run(&session, "2026-11-20 23:50 UTC", "test").unwrap();
    assert_eq!(report.cells.len(), 4);
    assert_eq!((report.at_paper_rates.len(), report.closed.len()), (4, 4));
    assert_eq!(report.group_commit.len(), 5);
    for point in report.at_paper_rates.iter().chain(&report.closed) {
        assert!(point.run.valid(), "{}", point.run.errors_text);
        assert!(point.run.requests > 0);
    }
    let put = report
        .closed
        .iter()
        .find(|point| point.case.verb == Verb::Put);
    assert!(put.unwrap().run.generator_cpu_us > 0.0);
    // The stand-in counts a sync every four puts.
    let shared = report.group_commit[4].puts_per_sync.unwrap();
    assert!((3.5..4.5).contains(&shared), "{shared}");
    assert!(report.idle.resident_bytes > 100_000);
    report::write(&report, out.path(), "quorum").unwrap();
    assert_eq!(entries(out.path()), 3);
    assert_eq!(entries(data.path()), 0, "servers' data is removed");
}

#[test]
fn a_store_that_loses_records_is_refused() {
    if program::find("etcd").is_none() {
        eprintln!("skipped: no etcd");
        return;
    }
    // Three stand-ins as processes share nothing, so most reads find nothing.
    let data = tempfile::tempdir().unwrap();
    let options = options(data.path(), &["--cluster", "processes"]);
    let session = session(options, Interrupt::default());
    let error = quorum::run(&session, "", "").unwrap_err();
    assert!(matches!(error, BenchError::Unsound { .. }), "{error}");
    assert!(error.to_string().contains("with status 404"), "{error}");
    assert_eq!(entries(data.path()), 0);
}

#[test]
fn a_missing_binary_is_one_clear_line() {
    let mut options = options(Path::new("/tmp"), &[]);
    options.dunlin = Some("/no/such/dunlin".into());
    let error = Session::new(options, Interrupt::default()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("no dunlin binary at /no/such/dunlin")
    );
}

#[test]
fn ctrl_c_ends_the_servers_and_removes_their_data() {
    let data = tempfile::tempdir().unwrap();
    let mut bench = Command::new(env!("CARGO_BIN_EXE_dunlin-bench"))
        .args(["quorum", "--quick", "--dunlin"])
        .arg(stand_in())
        .arg("--data-dir")
        .arg(data.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(bench.stderr.take().unwrap()).lines();
    let ready = lines.find(|line| line.as_ref().unwrap().contains("fill, PUT"));
    assert!(ready.is_some());
    assert_eq!(entries(data.path()), 1);
    let children = children_of(bench.id());
    assert_eq!(children.len(), 1);

    let pid = rustix::process::Pid::from_raw(bench.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let start = Instant::now();
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(!bench.wait().unwrap().success());
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(rest.last().unwrap(), "dunlin-bench: interrupted");
    assert_eq!(entries(data.path()), 0);
    assert!(!Path::new(&format!("/proc/{}", children[0])).exists());
}

fn children_of(pid: u32) -> Vec<u32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = std::fs::read_to_string(path).unwrap();
    text.split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect()
}
