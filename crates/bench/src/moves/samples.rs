//! Made-up runs, for tests.

use super::change::{Look, Moved};
use super::felt::{Felt, Second};
use super::run::{Part, Run};
use super::verify::Verified;

/// Latencies of a thousand requests.
pub fn felt(p99_ms: u64, failed: u64) -> Felt {
    Felt {
        requests: 1_000,
        failed,
        latency_us_p50: p99_ms * 100,
        latency_us_p99: p99_ms * 1_000,
        latency_us_p999: p99_ms * 2_000,
        latency_us_max: p99_ms * 3_000,
    }
}

/// A run of parts of ten seconds with these 99th percentiles: before, a step, between, a step,
/// after. Each step copies 2 GB in four seconds.
pub fn run(p99_ms: [u64; 5], failed: u64) -> Run {
    let names = ["before", "add n4", "between", "drain n1", "after"];
    let part = |at: usize| Part {
        name: names[at].into(),
        begin_s: 10.0 * at as f64,
        end_s: 10.0 * (at + 1) as f64,
        nodes_cpu_s: if at % 2 == 1 { 7.0 } else { 3.0 },
        machine_busy: 0.5,
        machine_other: 0.05,
        machine_steal: 0.0,
        felt: Some(felt(p99_ms[at], if at == 1 { failed } else { 0 })),
        seconds_over: Some(if p99_ms[at] > 20 { 10 } else { 0 }),
    };
    let second = |at_s: u64| Second {
        at_s,
        felt: felt(p99_ms[at_s as usize / 10], 0),
    };
    Run {
        parts: (0..5).map(part).collect(),
        moves: vec![moved("add n4", 10.0), moved("drain n1", 30.0)],
        seconds: (0..50).map(second).collect(),
        failures: if failed > 0 {
            format!("{failed} with status 503")
        } else {
            String::new()
        },
        verified: Verified {
            keys_read: 10_000,
            overwrites: 77,
            copies: 3_003,
            copies_wanted: 3,
            copies_by_node: ["n2", "n3", "n4", "n1"]
                .map(|name| (name.to_owned(), if name == "n1" { 0 } else { 1_001 }))
                .to_vec(),
        },
    }
}

fn moved(step: &str, begin_s: f64) -> Moved {
    let look = |tenths: u64| Look {
        at_s: begin_s + tenths as f64 / 10.0,
        phase: if tenths < 50 { "copy" } else { "joint" }.into(),
        bytes: (tenths * 50_000_000).min(2_000_000_000),
        bytes_per_s_max: [("n4/0".to_owned(), 600_000_000)].into(),
        latency_us_p99: 15_000,
    };
    Moved {
        step: step.into(),
        begin_s,
        duration_s: 10.0,
        copy_s: 4.0,
        parts: 48,
        records: 2_000,
        bytes: 2_000_000_000,
        looks: (0..100).map(look).collect(),
    }
}
