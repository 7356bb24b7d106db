#![allow(clippy::unwrap_used, clippy::expect_used)]
use clap::Parser;

use super::*;
use crate::options::{Options, Table};

fn plan(arguments: &[&str], can_set_bound: bool) -> Plan {
    let all = ["dunlin-bench", "move"].iter().chain(arguments);
    match Options::parse_from(all).table {
        Table::Move(options) => Plan::of(&options, can_set_bound),
        _ => panic!("another table"),
    }
}

#[test]
fn a_full_run_is_of_half_a_gigabyte_and_every_case() {
    let plan = plan(&[], true);
    assert_eq!((plan.key_bytes, plan.value_bytes), (16, 1_000));
    assert!((511_000_000..=512_000_000).contains(&plan.bytes()));
    assert_eq!((plan.rate_per_s, plan.repeats), (4_000.0, 3));
    assert_eq!(plan.rest, Duration::from_secs(30));
    let names: Vec<String> = plan.cases.iter().map(|case| case.name()).collect();
    let wanted = ["clients, bounded", "no clients", "clients, not bounded"];
    assert_eq!(names, wanted.map(|pacing| format!("{pacing}, sync never")));
    assert_eq!(plan.cases[2].serve_flags(), ["--move-latency", UNBOUNDED]);
    assert!(plan.cases[0].serve_flags().is_empty());
}

#[test]
fn a_program_without_a_bound_to_set_is_not_asked_for_one() {
    let plan = plan(
        &["--sync", "never,always", "--cases", "unbounded,idle"],
        false,
    );
    let idle = |sync| Condition {
        sync,
        pacing: Pacing::Idle,
    };
    assert_eq!(plan.cases, [idle(Sync::Never), idle(Sync::Always)]);
}

#[test]
fn flags_go_before_what_quick_means() {
    let plan = plan(
        &[
            "--quick",
            "--size",
            "8MB",
            "--rate",
            "300",
            "--rest",
            "2",
            "--value-size",
            "84",
        ],
        true,
    );
    assert_eq!(
        (plan.keys, plan.rate_per_s, plan.repeats),
        (80_000, 300.0, 1)
    );
    assert_eq!(plan.rest, Duration::from_secs(2));
}
