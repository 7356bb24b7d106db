//! The whole of `dunlin-bench rivals`, very small: what is measured and written. Not times.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use dunlin_bench::interrupt::Interrupt;
use dunlin_bench::options::{Options, RivalsOptions, Table};
use dunlin_bench::program;
use dunlin_bench::rivals::case::{Ask, CASES};
use dunlin_bench::rivals::{self, Lengths, Report, Session, report};

fn stand_in() -> PathBuf {
    let me = std::env::current_exe().unwrap();
    let built = me.ancestors().nth(2).unwrap().join("examples/stand_in");
    assert!(built.is_file(), "cargo test builds {}", built.display());
    built
}

fn options(data: &Path, stores: &str) -> RivalsOptions {
    let (dunlin, data) = (stand_in().display().to_string(), data.display().to_string());
    let fixed = ["dunlin-bench", "rivals", "--quick", "--cluster", "up"];
    let all = fixed.into_iter().chain([
        "--connections",
        "3,6",
        "--dunlin",
        &dunlin,
        "--data-dir",
        &data,
        "--stores",
        stores,
    ]);
    match Options::parse_from(all).table {
        Table::Rivals(options) => options,
        _ => panic!("another table"),
    }
}

fn run(stores: &str) -> Report {
    let data = tempfile::tempdir().unwrap();
    let options = options(data.path(), stores);
    let lengths = Lengths {
        repeats: 2,
        fill: 200,
        warmup: Duration::from_millis(50),
        run: Duration::from_millis(250),
    };
    let session = Session::new(&options, Interrupt::default()).unwrap();
    let report = rivals::run(&session.with_lengths(lengths), "now", "test").unwrap();
    assert_eq!(data.path().read_dir().unwrap().count(), 0, "nothing stays");
    for cell in &report.cells {
        assert_eq!(cell.runs.len(), 2, "{:?}", cell.case);
        for run in &cell.runs {
            assert!(run.valid(), "{:?}: {}", cell.case, run.errors_text);
            assert!(run.rate_per_s > 0.0, "{:?}", cell.case);
            assert!(run.server_switches > 0.0, "{:?}", cell.case);
        }
    }
    report
}

fn cases_of(report: &Report, ask: Ask) -> usize {
    let of_ask = |cell: &&rivals::Cell| cell.case.ask == ask;
    report.cells.iter().filter(of_ask).count()
}

#[test]
fn one_store_alone_is_measured_and_reported() {
    let report = run("dunlin");
    let asks = [Ask::Put, Ask::Get, Ask::Swap, Ask::Any];
    let counts = asks.map(|ask| cases_of(&report, ask));
    assert_eq!(counts, [6, 4, 2, 2], "two numbers of connections");
    assert!(report.left_out.is_empty());
    let out = tempfile::tempdir().unwrap();
    let written = report::write(&report, out.path()).unwrap();
    assert_eq!(written, ["rivals.json", "rivals.md"]);
    let text = std::fs::read_to_string(out.path().join("rivals.md")).unwrap();
    assert_eq!(text.matches("| Dunlin, 3 nodes").count(), 14, "{text}");
}

#[test]
fn the_rivals_that_were_built_answer_as_they_must() {
    if program::rival("etcd").is_none() || program::rival("nats-server").is_none() {
        eprintln!("skipped: scripts/rivals.sh has not built them");
        return;
    }
    let report = run("etcd,nats");
    assert!(report.left_out.is_empty(), "{:?}", report.left_out);
    let of_both = CASES.iter().filter(|case| {
        let name = case.setup.name();
        name.starts_with("etcd") || name.starts_with("NATS")
    });
    assert_eq!(report.cells.len(), 2 * of_both.count());
}

#[test]
fn what_is_not_there_is_named() {
    if program::rival("etcd").is_some() {
        eprintln!("skipped: scripts/rivals.sh has built it");
        return;
    }
    let report = run("dunlin,etcd");
    assert_eq!(
        report.left_out,
        ["etcd is left out: scripts/rivals.sh has not built it"]
    );
}
