//! What issue 2 asks for, and whether it is reached.

use crate::load::http::Verb;
use crate::report::model::{Cell, GroupCommit, Idle, Target};

const PUT_PER_S: f64 = 20_000.0;
const GET_PER_S: f64 = 30_000.0;
const PUT_RATIO: f64 = 0.6;
const GET_RATIO: f64 = 0.8;
const IDLE_BYTES: u64 = 250_000_000;
/// Kvrocks with one asynchronous replica: 35 us a put over its two copies, 13 us a get of one.
const PUT_CPU_US: f64 = 17.5;
const GET_CPU_US: f64 = 13.0;
/// Enough that the rate cannot be one sync a put.
const PUTS_PER_SYNC: f64 = 2.0;
const SYNC_CONNECTIONS: usize = 64;

/// Holds the results against the targets.
pub fn evaluate(cells: &[Cell], idle: &Idle, group_commit: &[GroupCommit]) -> Vec<Target> {
    let mut targets = Vec::new();
    for replicated in cells.iter().filter(|cell| cell.case.copies.from > 1) {
        let (rate, ratio, cpu_us) = match replicated.case.verb {
            Verb::Put => (PUT_PER_S, PUT_RATIO, PUT_CPU_US),
            Verb::Get => (GET_PER_S, GET_RATIO, GET_CPU_US),
        };
        let name = replicated.case.name();
        targets.push(Target {
            what: format!("{name}: rate with 95 % under 2 ms"),
            wanted: format!("at least {rate:.0}/s"),
            measured: format!("{:.0}/s", replicated.rate_per_s),
            met: Some(replicated.confirmed && replicated.rate_per_s >= rate),
        });
        targets.push(ratio_target(&name, ratio, ratio_of(cells, replicated)));
        let replicas = f64::from(replicated.case.replicas_at_work());
        let measured = replicated.summary.server_cpu_us.median / replicas;
        targets.push(Target {
            what: format!("{name}: server CPU per request and replica at work"),
            wanted: format!("below {cpu_us:.1} us"),
            measured: format!("{measured:.1} us"),
            met: (!replicated.runs.is_empty()).then_some(measured < cpu_us),
        });
    }
    targets.push(Target {
        what: "memory of the idle cluster".into(),
        wanted: format!("under {:.0} MB", IDLE_BYTES as f64 / 1e6),
        measured: format!("{:.0} MB", idle.resident_bytes as f64 / 1e6),
        met: Some(idle.resident_bytes < IDLE_BYTES),
    });
    let shared = group_commit
        .iter()
        .find(|row| row.run.connections == SYNC_CONNECTIONS)
        .and_then(|row| row.puts_per_sync);
    targets.push(Target {
        what: format!("synced puts that share a sync, {SYNC_CONNECTIONS} connections"),
        wanted: format!("more than {PUTS_PER_SYNC:.0}"),
        measured: shared.map_or("not measured".into(), |puts| format!("{puts:.1}")),
        met: shared.map(|puts| puts > PUTS_PER_SYNC),
    });
    targets
}

/// The replicated rate over the unreplicated one of the same verb and connections; `None` unless
/// full runs held both.
pub fn ratio_of(cells: &[Cell], replicated: &Cell) -> Option<f64> {
    let alone = one_copy_of(cells, replicated)?;
    let held = alone.confirmed && replicated.confirmed && alone.rate_per_s > 0.0;
    held.then(|| replicated.rate_per_s / alone.rate_per_s)
}

/// The cell of one copy with the same verb and connections.
pub fn one_copy_of<'a>(cells: &'a [Cell], replicated: &Cell) -> Option<&'a Cell> {
    cells.iter().find(|cell| {
        cell.case.copies.from == 1
            && cell.case.verb == replicated.case.verb
            && cell.case.connections == replicated.case.connections
    })
}

fn ratio_target(name: &str, wanted: f64, ratio: Option<f64>) -> Target {
    Target {
        what: format!("{name}: rate over that of 1 copy"),
        wanted: format!("at least {wanted:.1}"),
        measured: ratio.map_or("not both held".into(), |ratio| format!("{ratio:.2}")),
        met: ratio.map(|ratio| ratio >= wanted),
    }
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;
