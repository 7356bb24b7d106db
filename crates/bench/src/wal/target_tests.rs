#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::interval::Interval;
use crate::wal::device::Row;
use crate::wal::entry::Entry;
use crate::wal::rival;

fn always(number: f64) -> Interval {
    Interval::of(&[number])
}

fn device(ratio_latency: f64) -> Device {
    let row = |writers, ratio_latency| Row {
        writers,
        entries_per_s: always(1.0),
        ratio: always(1.0),
        latency_us: always(1.0),
        ratio_latency: always(ratio_latency),
        entries_a_sync: always(1.0),
    };
    Device {
        record_bytes: 1,
        bare: Vec::new(),
        rows: vec![row(6, 99.0), row(1, ratio_latency)],
    }
}

fn read(recovery: f64, cursor: f64) -> Read {
    Read {
        entry: Entry {
            key_bytes: 16,
            value_bytes: 16,
        },
        bytes: 1,
        entries: 1,
        recovery_gb_per_s: always(recovery),
        recovery_gb_per_cpu_s: always(recovery),
        cursor_gb_per_s: always(cursor),
        cursor_gb_per_cpu_s: always(cursor),
    }
}

#[test]
fn what_was_not_measured_is_neither_met_nor_missed() {
    let targets = evaluate(None, None, &[], &[]);
    assert_eq!(targets.len(), 6);
    for target in &targets {
        assert_eq!(
            (target.met, target.measured.as_str()),
            (None, "not measured")
        );
    }
}

#[test]
fn limits_are_inclusive_and_the_slowest_log_counts() {
    let met = |ratio, reads: &[Read]| -> Vec<Option<bool>> {
        let targets = evaluate(None, Some(&device(ratio)), reads, &[]);
        targets.iter().map(|target| target.met).collect()
    };
    let good = met(1.15, &[read(1.0, 2.0), read(3.0, 1.0)]);
    assert_eq!(good[2..5], [Some(true), Some(true), Some(true)]);
    let bad = met(1.16, &[read(5.0, 2.0), read(0.9, 0.8)]);
    assert_eq!(bad[2..5], [Some(false), Some(false), Some(false)]);
}

#[test]
fn a_rival_lost_in_noise_is_not_beaten() {
    let some = Interval::of(&[2.0, 2.0]);
    let rival = |path_us| Rival {
        version: String::new(),
        assertions: false,
        entry: rival::ENTRY,
        rows: vec![rival::Row {
            sync: false,
            entries: 1,
            ours_per_s: some,
            ours_cpu_us: some,
            with_log_per_s: some,
            with_log_cpu_us: some,
            without_log_per_s: some,
            without_log_cpu_us: some,
            log_us: some,
            wal_us: some,
            path_us,
            ratio_path: some,
            log_cpu_us: some,
            ratio_log: some,
            ratio_whole: some,
            ratio_cpu: some,
        }],
    };
    let first = |path_us| evaluate(Some(&rival(path_us)), None, &[], &[]).remove(0);
    assert_eq!(first(some).met, Some(true));
    for noise in [Interval::of(&[-1.0, 4.0]), Interval::of(&[-2.0, -2.0])] {
        let target = first(noise);
        assert_eq!(
            (target.met, target.measured.as_str()),
            (None, "too noisy to tell")
        );
    }
}
