//! A made-up report for tests.

use super::model::{Case, Cell, GroupCommit, Idle, Point, Programs, Report, Settings, Summary};
use crate::host::disk::SyncRate;
use crate::host::machine::Machine;
use crate::load::http::{Copies, ONE_COPY, THREE_COPIES, Verb};
use crate::load::key::Order;
use crate::measure::Run;
use crate::options::{Options, Shape, Table};
use clap::Parser;

/// A run at a rate, held.
pub fn run(connections: usize, rate_per_s: f64, server_cpu_us: f64) -> Run {
    Run {
        connections,
        rate_intended_per_s: Some(rate_per_s),
        rate_per_s,
        requests: 1000,
        share_under_2ms: 0.97,
        latency_us_mean: 300.0,
        latency_us_p50: 250,
        latency_us_p90: 500,
        latency_us_p95: 600,
        latency_us_p99: 900,
        latency_us_p999: 3_000,
        latency_us_p9999: 9_000,
        server_cpu_us,
        server_cpu_us_deferred: 1.0,
        server_switches: 0.5,
        generator_cpu_us: 7.0,
        machine_busy: 0.9,
        machine_other: 0.02,
        machine_steal: 0.01,
        errors: 0,
        errors_text: String::new(),
        unfinished: 0,
        curve: vec![(0.0, 100), (50.0, 250), (99.99, 9_000), (100.0, 20_000)],
    }
}

/// A confirmed cell.
pub fn cell(verb: Verb, copies: Copies, rate_per_s: f64, server_cpu_us: f64) -> Cell {
    let runs = vec![run(4, rate_per_s, server_cpu_us)];
    Cell {
        case: Case {
            verb,
            copies,
            connections: 4,
        },
        rate_per_s,
        confirmed: true,
        probes: Vec::new(),
        summary: Summary::of(&runs),
        runs,
    }
}

/// One row of synced puts.
pub fn group_commit(connections: usize, puts_per_sync: Option<f64>) -> GroupCommit {
    GroupCommit {
        run: run(connections, 5_000.0, 60.0),
        puts_per_sync,
    }
}

/// A whole report.
pub fn report() -> Report {
    let table = Options::parse_from(["dunlin-bench", "quorum"]).table;
    let Table::Quorum(options) = table else {
        panic!("another table");
    };
    let cells = vec![
        cell(Verb::Put, ONE_COPY, 40_000.0, 15.0),
        cell(Verb::Put, THREE_COPIES, 25_000.0, 40.0),
        cell(Verb::Get, ONE_COPY, 45_000.0, 12.0),
        cell(Verb::Get, THREE_COPIES, 38_000.0, 20.0),
    ];
    let at_paper_rates = cells
        .iter()
        .map(|cell| Point {
            case: cell.case,
            run: run(4, 6_000.0, 30.0),
        })
        .collect();
    Report {
        date_utc: "2026-11-20 23:50 UTC".into(),
        command_line: "dunlin-bench quorum".into(),
        quick: false,
        machine: Machine::describe(&std::env::temp_dir()),
        programs: Programs {
            dunlin: "dunlin 0.1.0".into(),
            revision: Some("abc1234-dirty".into()),
            etcd: Some("etcd Version: 3.4.23".into()),
        },
        settings: Settings {
            cluster: Shape::Up,
            connections: vec![4],
            value_bytes: 100,
            keys: Order::Random,
            timing: options.timing(),
        },
        targets: Vec::new(),
        cells,
        at_paper_rates,
        closed: Vec::new(),
        idle: Idle {
            resident_bytes_at_start: 90_000_000,
            resident_bytes: 100_000_000,
        },
        disk: SyncRate {
            syncs_per_s: 1_000.0,
            sync_us_p50: 900,
            sync_us_p99: 2_000,
        },
        group_commit: vec![group_commit(64, Some(12.5))],
        wall_s: 700.0,
    }
}
