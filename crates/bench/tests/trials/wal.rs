//! The whole of `dunlin-bench wal`, very small: structure, and agreement to the byte.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Parser;
use dunlin_bench::interrupt::Interrupt;
use dunlin_bench::options::{Options, Part, Table, WalOptions};
use dunlin_bench::program;
use dunlin_bench::wal::cell::predict;
use dunlin_bench::wal::entry::{Entry, Source};
use dunlin_bench::wal::layout::{Counts, Header, Policy};
use dunlin_bench::wal::plan::Plan;
use dunlin_bench::wal::report::model::Report;
use dunlin_bench::wal::writers::{Driven, Load, on_event_loop, one_segment};
use dunlin_bench::wal::{self, Session, audit, report};
use proptest::prelude::*;

fn options(data: &Path, parts: &str) -> WalOptions {
    let data = data.display().to_string();
    let all = [
        "dunlin-bench",
        "wal",
        "--quick",
        "--parts",
        parts,
        "--data-dir",
        &data,
    ];
    match Options::parse_from(all).table {
        Table::Wal(options) => options,
        _ => panic!("another table"),
    }
}

/// As little as every part can be.
fn tiny(data: &Path, parts: &str) -> Session {
    let session = Session::new(&options(data, parts), Interrupt::default()).unwrap();
    let plan = Plan {
        key_bytes: vec![1024, 16],
        value_bytes: vec![8192, 128],
        block_bytes: vec![8 << 10, 128 << 10],
        entries: 400,
        repeats: 2,
        cuts: 3,
        cause_records: 300,
        cause_syncs: 2,
        cause_repeats: 2,
        rival_entries_each: 200,
        rival_entries_each_synced: 10,
        rival_repeats: 2,
        device_run: Duration::from_millis(20),
        device_repeats: 2,
        read_bytes: 300_000,
        read_repeats: 2,
        ..session.plan().clone()
    };
    session.with_plan(plan)
}

fn run(parts: &str) -> Report {
    let data = tempfile::tempdir().unwrap();
    let session = tiny(data.path(), parts);
    let report = wal::run(&session, "2026-11-21 04:00 UTC", "test").unwrap();
    drop(session);
    assert_eq!(data.path().read_dir().unwrap().count(), 0, "nothing stays");
    report
}

#[test]
fn the_grid_agrees_to_the_byte_and_is_written_in_every_form() {
    let report = run("grid");
    assert_eq!(report.cells.len(), 8);
    assert_eq!(report.block_sizes(), [8 << 10, 128 << 10]);
    let order: Vec<String> = report
        .cells_of(8 << 10)
        .iter()
        .map(|cell| cell.entry.name())
        .collect();
    assert_eq!(order, ["k16v128", "k1024v128", "k16v8192", "k1024v8192"]);
    for cell in &report.cells {
        for side in [&cell.fragment, &cell.pad] {
            assert_eq!(side.predicted, side.measured);
            assert_eq!(side.measured.records, 401);
            assert!(side.write_amplification > 1.0);
            assert_eq!((side.latency_us.count, side.lost.cuts), (2, 3));
        }
        assert_eq!(cell.difference_us.count, 2);
        assert_eq!(cell.paper.is_some(), cell.block_bytes == 8 << 10);
        let user = cell.entry.user_bytes();
        if user < cell.block_bytes as usize - 60 {
            assert_eq!(cell.pad.measured.records_split, 0);
            let crossed = cell.fragment.measured.file_bytes > 2 * u64::from(cell.block_bytes);
            assert_eq!(cell.fragment.measured.records_split > 0, crossed);
        } else {
            // No block holds it, so both write the same but for what they say of themselves.
            assert_eq!(cell.pad.measured, cell.fragment.measured);
        }
    }
    assert_eq!(report.targets.last().unwrap().met, Some(true));

    let out = tempfile::tempdir().unwrap();
    std::fs::write(out.path().join("wal.md"), "by hand").unwrap();
    let names = report::write(&report, out.path()).unwrap();
    let read = |name: &str| std::fs::read_to_string(out.path().join(name)).unwrap();
    assert_eq!(read("wal.md"), "by hand");
    assert_eq!(
        names,
        [
            "wal.json",
            "wal-grid.md",
            "wal.html",
            "wal-8k.svg",
            "wal-8k.png",
            "wal-8k-patch.svg",
            "wal-8k-patch.png"
        ]
    );
    let json: serde_json::Value = serde_json::from_str(&read("wal.json")).unwrap();
    assert_eq!(json["cells"][0]["key_bytes"], 16);
    assert_eq!(json["cells"][0]["pad"]["lost"]["cuts"], 3);
    let (grid, page) = (read("wal-grid.md"), read("wal.html"));
    for text in [&grid, &page] {
        for wanted in [
            "Blocks of 128 KiB: speed",
            "k1024v8192",
            "A quick run",
            "not measured",
        ] {
            assert!(text.contains(wanted), "{wanted}");
        }
    }
    assert!(grid.contains("![") && grid.contains("(wal-8k.svg)"));
    assert_eq!(page.matches("<svg").count(), 2);
    for outside in ["src=", "href=", "url(", "@import", "<script"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn experiments_have_variants_with_intervals() {
    let report = run("causes");
    assert!(report.cells.is_empty());
    let names: Vec<&str> = report.causes.iter().map(|one| one.name.as_str()).collect();
    for wanted in [
        "encoding in",
        "swapped",
        "fragments",
        "checksum",
        "write size",
        "alignment",
        "zeros",
    ] {
        assert!(
            names.iter().any(|name| name.contains(wanted)),
            "{wanted} of {names:?}"
        );
    }
    let in_rocksdb = names.iter().any(|name| name.contains("RocksDB"));
    assert_eq!(in_rocksdb, program::find("db_bench").is_some());
    for experiment in &report.causes {
        assert!(experiment.rows.len() >= 2, "{}", experiment.name);
        for (at, row) in experiment.rows.iter().enumerate() {
            assert_eq!(row.cost.count, 2);
            assert!(row.cost.ci95.is_some() && row.cost.mean > 0.0);
            assert_eq!(row.difference.is_some(), at > 0);
        }
    }
}

#[test]
fn the_disk_and_the_readers() {
    let report = run("device,read");
    let device = report.device.unwrap();
    let writers: Vec<u64> = device.rows.iter().map(|row| row.writers).collect();
    assert_eq!(writers, [1, 6, 64, 256]);
    assert_eq!(
        device.bare.len(),
        if program::find("fio").is_some() { 4 } else { 3 }
    );
    assert!(
        device
            .bare
            .iter()
            .all(|bare| bare.per_s.count == 2 && bare.per_s.mean > 0.0)
    );
    let one = &device.rows[0];
    assert!((0.9..=1.1).contains(&one.entries_a_sync.mean), "{one:?}");
    assert!(device.rows[3].entries_a_sync.mean > 2.0);
    assert_eq!(report.read.len(), 3);
    for read in &report.read {
        let wanted = 300_000 / read.entry.payload_bytes() as u64;
        assert_eq!(read.entries, wanted + 1, "all, and one preamble");
        assert!(read.bytes > 290_000);
        assert_eq!(read.cursor_gb_per_s.count, 2);
    }
    let met = |what: &str| {
        let mut targets = report.targets.iter();
        targets
            .find(|target| target.what.contains(what))
            .unwrap()
            .met
    };
    assert!(met("bare write").is_some() && met("recovery").is_some());
    assert_eq!(met("RocksDB"), None);
}

#[test]
fn beside_rocksdb() {
    if program::find("db_bench").is_none() {
        eprintln!("skipped: no db_bench");
        return;
    }
    let rival = run("rival").rival.unwrap();
    assert!(rival.version.contains("db_bench"), "{}", rival.version);
    let [never, always] = &rival.rows[..] else {
        panic!("two rows");
    };
    assert_eq!((never.entries, always.entries), (1_200, 60));
    assert!(!never.sync && always.sync);
    for row in [never, always] {
        assert_eq!((row.ours_per_s.count, row.with_log_per_s.count), (2, 2));
        assert!(row.ours_per_s.mean > 0.0 && row.without_log_per_s.mean > 0.0);
    }
}

/// What a log is predicted to hold, and what it holds.
fn predicted_and_measured(
    entry: Entry,
    block_bytes: u32,
    policy: Policy,
    load: Load,
) -> (Counts, Counts) {
    let predicted = predict(entry, block_bytes, policy, load.entries);
    let directory = tempfile::tempdir().unwrap();
    on_event_loop(async {
        let options = one_segment(block_bytes, policy, predicted.file_bytes);
        let (driven, ..) = Driven::open(directory.path(), options).await?;
        driven.begin().await?;
        let entries = load.entries;
        let written = driven
            .write(load, &Source::new(entry, 1), &Interrupt::default())
            .await?;
        assert_eq!(written.entries, entries);
        driven.close().await
    })
    .unwrap();
    let path = directory.path().join("00000000000000000001.log");
    let measured = audit::count(&path, block_bytes, Header::Recyclable).unwrap();
    (predicted, measured)
}

fn unsynced(entries: u64, writers: u64) -> Load {
    Load {
        entries,
        writers,
        sync: false,
        release: false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// The prediction of Dunlin's own log agrees with the file to the byte, whatever is written.
    #[test]
    fn a_log_is_as_predicted(
        key_bytes in 0usize..2_000,
        value_bytes in prop_oneof![0usize..400, 0usize..12_000, 60_000usize..140_000],
        block in 12u32..=20,
        pad in any::<bool>(),
        entries in 1u64..60,
        writers in 1u64..8,
    ) {
        let entry = Entry { key_bytes, value_bytes };
        let policy = if pad { Policy::Pad } else { Policy::Fragment };
        let load = unsynced(entries, writers);
        let (predicted, measured) = predicted_and_measured(entry, 1 << block, policy, load);
        prop_assert_eq!(measured, predicted);
    }
}

/// Seven bytes are left behind the last mark, where no header fits.
#[test]
fn a_log_that_ends_just_before_its_blocks_end_is_as_predicted() {
    let entry = Entry {
        key_bytes: 186,
        value_bytes: 8_991,
    };
    let (predicted, measured) =
        predicted_and_measured(entry, 1 << 14, Policy::Fragment, unsynced(16, 1));
    assert_eq!(measured.file_bytes % (1 << 14), 0);
    assert_eq!(measured, predicted);
}

#[test]
fn options_are_those_of_the_paper() {
    let data = tempfile::tempdir().unwrap();
    let quick = Plan::of(&options(data.path(), "grid,read"));
    assert_eq!(quick.parts, [Part::Grid, Part::Read]);
    let Table::Wal(full) = Options::parse_from(["dunlin-bench", "wal"]).table else {
        panic!("another table");
    };
    assert_eq!(full.out(), Path::new("docs/results"));
    assert_eq!(
        options(data.path(), "grid").out(),
        Path::new("target/bench")
    );
    let plan = Plan::of(&full);
    let cells = plan.key_bytes.len() * plan.value_bytes.len() * plan.block_bytes.len();
    assert_eq!((cells, plan.entries), (336, 100_000));
    assert_eq!(plan.parts, Part::ALL);
    assert!(plan.repeats >= 5);
    assert_eq!(plan.entries_timed(32), 100_000);
    assert!(plan.entries_timed(9_216) * 9_216 <= plan.timed_bytes_max);
}

#[test]
fn ctrl_c_ends_it_and_removes_its_logs() {
    let data = tempfile::tempdir().unwrap();
    let mut bench = Command::new(env!("CARGO_BIN_EXE_dunlin-bench"))
        .args(["wal", "--quick", "--parts", "grid", "--data-dir"])
        .arg(data.path())
        .arg("--out")
        .arg(data.path().join("out"))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(bench.stderr.take().unwrap()).lines();
    let cell = lines.find(|line| line.as_ref().unwrap().contains("cell 1 of"));
    assert!(cell.unwrap().unwrap().ends_with(" left"));
    let pid = rustix::process::Pid::from_raw(bench.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(!bench.wait().unwrap().success());
    assert_eq!(rest.last().unwrap(), "dunlin-bench: interrupted");
    assert_eq!(data.path().read_dir().unwrap().count(), 0);
}
