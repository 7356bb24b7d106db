//! `dunlin copy` on databases that `db_bench` made, compared by an independent scan and by `ldb`.

use std::time::Duration;

use crate::copy_support::{assert_unusable, content, db_bench, ldb_scan, receive};
use crate::harness::eventually;
use crate::support::run;

const MODES: [&str; 3] = ["files", "ingest", "insert"];

#[test]
fn databases_of_db_bench_are_copied_in_every_mode() {
    let plain = [
        "--num=20000",
        "--value_size=100",
        "--write_buffer_size=400000",
    ];
    for (name, benchmarks, more) in [
        (
            "unflushed",
            "fillseq",
            &["--compression_type=none", "--write_buffer_size=90000000"][..],
        ),
        (
            "level 0",
            "fillrandom",
            &["--compression_type=none", "--disable_auto_compactions=1"],
        ),
        (
            "overwritten",
            "fillrandom,overwrite",
            &["--compression_type=none"],
        ),
        (
            "deleted",
            "fillrandom,deleterandom",
            &["--compression_type=lz4"],
        ),
        (
            "compacted",
            "fillrandom,overwrite,compact",
            &["--compression_type=zstd"],
        ),
        (
            "families",
            "fillrandom",
            &[
                "--compression_type=lz4",
                "--num_column_families=3",
                "--partition_index=1",
            ],
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("source");
        let benchmarks = format!("--benchmarks={benchmarks}");
        let arguments = [&plain[..], more, &[&benchmarks]].concat();
        db_bench(&source, &arguments);
        let expected = content(&source);
        assert!(
            expected.values().any(|family| family.len() > 1_000),
            "{name}"
        );
        for mode in MODES {
            let target = directory.path().join(mode);
            let (source, target) = (source.to_str().unwrap(), target.to_str().unwrap());
            run(&[
                "copy",
                source,
                target,
                "--mode",
                mode,
                "--range-size",
                "256KiB",
                "--quiet",
            ])
            .ok();
            assert!(content(target.as_ref()) == expected, "{name}, {mode}");
            for family in expected.keys() {
                let (ours, theirs) = (
                    ldb_scan(target.as_ref(), family),
                    ldb_scan(source.as_ref(), family),
                );
                assert!(ours == theirs, "{name}, {mode}, {family}");
            }
            let equal = run(&["copy", source, target, "--verify-only", "--json"]).ok();
            let pairs: usize = expected.values().map(|family| family.len()).sum();
            assert_eq!(equal.json()["pairs"], pairs, "{name}, {mode}");
        }
    }
}

#[test]
fn a_copy_over_tcp_is_reported_in_text_json_and_pictures() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let (source, target) = (path("source"), path("target"));
    db_bench(
        &source,
        &[
            "--benchmarks=fillrandom",
            "--num=30000",
            "--compression_type=none",
        ],
    );
    let receiver = receive(&target, &path("receiver.log"));
    let report = path("report");
    let ended = run(&[
        "copy",
        source.to_str().unwrap(),
        &receiver.address,
        "--mode=ingest",
        "--json",
        "--compress=zstd",
        "--limit=200KB/s",
        "--report",
        report.to_str().unwrap(),
    ])
    .ok();
    assert_eq!(ended.stderr, "");
    let json = ended.json();
    let pairs: usize = content(&source).values().map(|family| family.len()).sum();
    assert_eq!(json["pairs"], pairs);
    assert_eq!(json["bytes"], pairs * 116);
    let written = std::fs::read_to_string(report.join("copy.json")).unwrap();
    let written: serde_json::Value = serde_json::from_str(&written).unwrap();
    assert_eq!(written, json);
    let rates = json["samples"].as_array().unwrap();
    assert!(rates.len() >= 2, "{json}");
    // A bucket is never emptied faster than it fills, its burst apart.
    for rate in rates {
        assert!(
            rate["wire_bytes_per_s"].as_f64().unwrap() < 500_000.0,
            "{json}"
        );
    }
    assert!(json["bytes_per_s_cv"].as_f64().is_some());
    let svg = std::fs::read_to_string(report.join("copy.svg")).unwrap();
    assert!(svg.contains("<polyline"));
    assert!(content(&target) == content(&source));
}

#[test]
fn progress_goes_to_standard_error_line_by_line_and_quiet_is_quiet() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let source = path("source");
    db_bench(
        source.as_ref(),
        &[
            "--benchmarks=fillseq",
            "--num=40000",
            "--compression_type=none",
        ],
    );
    let arguments = [
        "copy",
        &source,
        &path("a"),
        "--mode=ingest",
        "--limit=1500KB/s",
    ];
    let slow = run(&[&arguments[..], &["--interval=500ms", "--range-size=1MiB"]].concat()).ok();
    let lines: Vec<&str> = slow.stderr.lines().collect();
    assert!(lines.len() >= 3, "{lines:?}");
    assert!(
        lines
            .iter()
            .any(|line| line.contains("pairs") && line.contains("/s mean")),
        "{lines:?}"
    );
    assert!(slow.text().starts_with("copied: "), "{}", slow.text());
    let quiet = run(&["copy", &source, &path("b"), "--quiet"]).ok();
    assert!(quiet.stdout.is_empty() && quiet.stderr.is_empty());
}

#[test]
fn ctrl_c_says_how_to_go_on_and_the_same_command_does() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let source = path("source");
    db_bench(
        &source,
        &[
            "--benchmarks=fillrandom",
            "--num=40000",
            "--compression_type=none",
        ],
    );
    let arguments = |more: &[&str]| {
        let mut command = crate::harness::child::dunlin();
        command.arg("copy").arg(&source).arg(path("target"));
        command.args(["--mode=ingest", "--range-size=256KiB"]);
        command.args(more);
        command
    };
    let mut slow = arguments(&["--limit=500KB/s", "--interval=100ms"]);
    for signal in ["-INT", "-TERM"] {
        let log = path(signal);
        let mut process = crate::harness::child::Process::start(&mut slow, &log);
        eventually("a range is there", Duration::from_secs(60), || {
            let output = process.output();
            output.contains(" of ") && !output.lines().last().unwrap().contains(", 0 of")
        });
        process.signal(signal);
        assert_eq!(process.ended(Duration::from_secs(30)), Some(1));
        let output = process.output();
        let last = output.lines().last().unwrap();
        assert!(
            last.starts_with("dunlin: ") && last.ends_with("run the same command again to go on"),
            "{output}"
        );
        assert_unusable(&path("target"));
    }
    let mut rest =
        crate::harness::child::Process::start(&mut arguments(&["--json"]), &path("rest"));
    assert_eq!(rest.ended(Duration::from_secs(60)), Some(0));
    let report: serde_json::Value = serde_json::from_str(&rest.output()).unwrap();
    assert!(
        report["units_done_before"].as_u64().unwrap() > 0,
        "{report}"
    );
    assert!(content(&path("target")) == content(&source));
}
