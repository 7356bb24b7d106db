#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use std::process::Command;
use std::time::Duration;

use crate::interrupt::Interrupt;

fn ran(seconds: f64, cpu_ms: u64) -> Ran {
    Ran {
        op_us: 0.0,
        operations: 1_000,
        seconds,
        cpu: Duration::from_millis(cpu_ms),
        wal: Some(Duration::from_micros(500)),
        memtable: Some(Duration::from_millis(2)),
        assertions: false,
    }
}

#[test]
fn the_memtable_is_taken_out() {
    let written = Written {
        entries: 1_000,
        elapsed: Duration::from_millis(1),
        cpu: Duration::from_millis(2),
        latency_us_mean: 6.0,
    };
    let runs = Runs {
        ours: vec![written; 2],
        with_log: vec![ran(0.005, 9), ran(0.005, 9)],
        without_log: vec![ran(0.002, 5), ran(0.002, 5)],
        timed: vec![ran(0.006, 9), ran(0.006, 9)],
    };
    let row = runs.row(true, 1_000);
    let near = |interval: Interval, wanted: f64| {
        assert!(
            (interval.mean - wanted).abs() < 1e-9,
            "{interval:?} {wanted}"
        );
    };
    near(row.ours_per_s, 1e6);
    near(row.log_us, 3.0);
    near(row.ratio_log, 3.0);
    near(row.wal_us, 0.5);
    near(row.path_us, 4.0);
    near(row.ratio_path, 4.0);
    near(row.ratio_whole, 5.0);
    near(row.log_cpu_us, 4.0);
    near(row.ratio_cpu, 2.0);
}

#[test]
fn a_child_is_heard_and_its_failure_told() {
    let directory = tempfile::tempdir().unwrap();
    let shell = |script: &str, interrupt: &Interrupt| {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        child::run(command, directory.path(), interrupt)
    };
    let on = Interrupt::default();
    assert_eq!(shell("echo yes", &on).unwrap(), "yes\n");
    let error = shell("echo why >&2; exit 3", &on).unwrap_err().to_string();
    assert!(error.contains("exit status: 3: why"), "{error}");
    let stop = Interrupt::default();
    stop.set();
    let error = shell("sleep 100", &stop).unwrap_err();
    assert!(matches!(error, BenchError::Interrupted(_)), "{error}");
}
