#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use std::time::Duration;

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
