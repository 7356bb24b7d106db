#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::time::Duration;

use super::super::case::{CASES, SETUPS};
use super::super::{Cell, Lengths};
use super::*;
use crate::host::disk::SyncRate;
use crate::host::machine::Machine;
use crate::report::samples;

fn report() -> Report {
    let cell = |&case| Cell {
        case,
        connections: 64,
        runs: vec![
            samples::run(64, 9_000.0, 149.0),
            samples::run(64, 11_000.0, 151.0),
        ],
    };
    Report {
        date_utc: "2026-11-20 23:50 UTC".into(),
        command_line: "dunlin-bench rivals".into(),
        quick: true,
        machine: Machine::describe(&std::env::temp_dir()),
        revision: None,
        programs: vec!["dunlin 0.1.0".into(), "etcd Version: 3.6.16".into()],
        left_out: vec!["Redis is left out: redis-server is not installed".into()],
        cluster: Shape::Processes,
        value_bytes: 256,
        lengths: Lengths {
            repeats: 2,
            fill: 100,
            warmup: Duration::from_secs(1),
            run: Duration::from_secs(6),
        },
        disk: SyncRate {
            syncs_per_s: 1_000.0,
            sync_us_p50: 900,
            sync_us_p99: 2_000,
        },
        cells: CASES.iter().map(cell).collect(),
        failovers: vec![Failover {
            setup: SETUPS[1],
            without_service_ms: vec![900.0, 1_500.0, 1_100.0],
        }],
        wall_s: 60.0,
    }
}

#[test]
fn every_case_has_its_row_and_says_what_its_answer_means() {
    let text = render(&report());
    for case in &CASES {
        assert!(text.contains(case.means), "{}\n{text}", case.means);
    }
    for wanted in [
        "etcd Version: 3.6.16",
        "- Redis is left out",
        "too short to be quoted",
        "10000 (9000 to 11000)",
        "151.0 (150.0 to 152.0)",
        "three processes",
        "1100 ms",
        "1500 ms",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
}

#[test]
fn errors_and_missing_answers_of_any_round_show() {
    let mut runs = vec![samples::run(64, 1.0, 1.0), samples::run(64, 1.0, 1.0)];
    assert_eq!(errors(&runs), "none");
    runs[0].errors_text = "3 with status 503".into();
    runs[1].unfinished = 2;
    assert_eq!(errors(&runs), "3 with status 503; 2 without an answer");
}

#[test]
fn every_case_is_of_servers_that_run_and_all_servers_have_a_case() {
    for setup in SETUPS {
        assert!(CASES.iter().any(|case| case.setup == setup), "{setup:?}");
    }
    for case in CASES {
        let same = |other: &&super::super::Case| other.setup == case.setup && other.ask == case.ask;
        assert_eq!(CASES.iter().filter(same).count(), 1, "{case:?}");
    }
}
