//! What issue 4 asks of moves, and whether it is reached.

use super::case::{Case, PartFelt};
use super::plan::BOUND_US_P99;
use crate::options::Pacing;
use crate::report::model::Target;

/// Every target, by the cases that were measured.
pub fn evaluate(cases: &[Case]) -> Vec<Target> {
    let mut targets = Vec::new();
    for case in cases {
        if case.condition.pacing == Pacing::Bounded {
            let moving = case.felt.iter().filter(|part| part.is_moving);
            targets.extend(moving.map(|part| latency(case, part)));
        }
    }
    for case in cases.iter().filter(|case| case.condition.has_clients()) {
        let (failed, requests) = case.failed();
        targets.push(Target {
            what: format!("{}: requests that failed", case.condition.name()),
            wanted: "none".into(),
            measured: format!("{failed} of {requests}"),
            met: (requests > 0).then_some(failed == 0),
        });
    }
    targets.push(copies(cases));
    targets
}

fn latency(case: &Case, part: &PartFelt) -> Target {
    let ms = |us: f64| us / 1e3;
    let p99 = part.latency_us_p99;
    Target {
        what: format!("{}: p99 during {}", case.condition.name(), part.part),
        wanted: format!("at most {:.0} ms", ms(BOUND_US_P99 as f64)),
        measured: format!(
            "{:.1} ms ({:.1} to {:.1})",
            ms(p99.median),
            ms(p99.min),
            ms(p99.max)
        ),
        met: (part.requests > 0).then_some(p99.median <= BOUND_US_P99 as f64),
    }
}

/// A run with anything else is no result, so this has been met wherever there is one.
fn copies(cases: &[Case]) -> Target {
    let runs = || cases.iter().flat_map(|case| &case.runs);
    let keys: u64 = runs().map(|run| run.verified.keys_read).sum();
    let is_whole = |run: &super::run::Run| {
        let wanted = run.verified.copies_wanted;
        let holders = run
            .verified
            .copies_by_node
            .iter()
            .filter(|(_, held)| *held > 0);
        holders.count() as u64 == wanted
    };
    Target {
        what: "keys after two moves".into(),
        wanted: "readable, each held three times".into(),
        measured: format!("{} runs, {keys} keys read back", runs().count()),
        met: (runs().count() > 0).then(|| runs().all(is_whole)),
    }
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;
