#![allow(clippy::unwrap_used)]
use super::*;
use crate::ranges::amounts::Amounts;
use std::path::PathBuf;

fn report() -> RangesReport {
    let copied = |bytes_per_s| Copied {
        bytes: 1 << 30,
        bytes_per_s,
        whole_s: 3.5,
        cpu_s: 2.0,
    };
    let latency = |p99| Latency {
        count: 100,
        p50: 1_000,
        p99,
        max: 40_000,
    };
    let round = |longest| Round {
        idle: copied(300_000_000),
        loaded: copied(150_000_000),
        before: latency(6_000),
        during: latency(17_000),
        transfers_us: vec![20_000, longest],
    };
    RangesReport {
        date_utc: "2026-01-01 00:00".into(),
        command_line: "dunlin-bench ranges".into(),
        quick: false,
        machine: crate::host::machine::Machine::describe(&PathBuf::from(".")),
        revision: None,
        dunlin: "1".into(),
        amounts: Amounts {
            repeats: 2,
            values: 16_384,
            value_bytes: 64 << 10,
            rate_per_s: 4_000.0,
            small_bytes: 256,
            before_s: 10,
            transfers: 2,
        },
        rounds: vec![round(60_000), round(80_000)],
    }
}

#[test]
fn figures_stand_beside_their_aims() {
    let table = table(&report());
    let row = |name: &str| {
        let mut lines = table.lines();
        lines.find(|line| line.contains(name)).unwrap().to_owned()
    };
    let copy = row("a copy, MB/s");
    assert!(copy.contains("300.0") && copy.contains("150.0") && copy.contains("100"));
    let p99 = row("clients, p99 ms");
    assert!(p99.contains("6.0") && p99.contains("17.0"), "{p99}");
    let waits = row("longest wait");
    assert!(waits.contains("40.0 (20.0 to 80.0)"), "{waits}");
    assert!(render(&report()).contains("16384 values of 64 KiB; 4000 requests/s"));
}

#[test]
fn a_round_is_one_line() {
    let line = line(&report().rounds[1]);
    let right = "at rest 300 MB/s, whole after 3.5 s; beside clients 150 MB/s, whole after 3.5 s, p99 17.0 ms; \
                 longest wait at a change of leader 80 ms";
    assert_eq!(line, right);
}
