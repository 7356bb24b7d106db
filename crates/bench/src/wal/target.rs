//! What issue 3 asks for, and whether it is reached.

use super::cell::Cell;
use super::device::Device;
use super::read::Read;
use super::rival::Rival;
use crate::report::model::Target;

/// Dunlin's log over RocksDB's, entries per second.
const RIVAL_RATIO: f64 = 1.5;
/// Latency of one writer over that of a bare write and sync.
const LATENCY_RATIO: f64 = 1.15;
const READ_GB_PER_S: f64 = 1.0;

/// Holds the results against the targets; what was not measured is said.
pub fn evaluate(
    rival: Option<&Rival>,
    device: Option<&Device>,
    read: &[Read],
    cells: &[Cell],
) -> Vec<Target> {
    let mut targets = Vec::new();
    for sync in [false, true] {
        let row = rival.and_then(|rival| rival.rows.iter().find(|row| row.sync == sync));
        let how = if sync {
            "sync on every write"
        } else {
            "no sync"
        };
        // What is not told apart from that of the memtable has no speed.
        let known = row.filter(|row| row.path_us.is_significant() && row.path_us.mean > 0.0);
        let mut target = at_least(
            format!("entries/s over RocksDB without its memtable, 6 writers, {how}"),
            RIVAL_RATIO,
            known.map(|row| row.ratio_path.median),
        );
        if row.is_some() && known.is_none() {
            target.measured = "too noisy to tell".into();
        }
        targets.push(target);
    }
    let one = device.and_then(|device| device.rows.iter().find(|row| row.writers == 1));
    let latency = one.map(|row| row.ratio_latency.median);
    targets.push(Target {
        what: "latency of one synced writer over a bare write + fdatasync".into(),
        wanted: format!("at most {LATENCY_RATIO:.2}"),
        measured: shown(latency),
        met: latency.map(|ratio| ratio <= LATENCY_RATIO),
    });
    let slowest = |of: fn(&Read) -> f64| read.iter().map(of).reduce(f64::min);
    for (what, speed) in [
        (
            "recovery, slowest log, GB/s",
            slowest(|read| read.recovery_gb_per_s.median),
        ),
        (
            "cursor, slowest log, GB/s",
            slowest(|read| read.cursor_gb_per_s.median),
        ),
    ] {
        targets.push(at_least(what.into(), READ_GB_PER_S, speed));
    }
    let agreed = cells.iter().all(|cell| {
        [&cell.fragment, &cell.pad]
            .iter()
            .all(|side| side.predicted == side.measured)
    });
    targets.push(Target {
        what: "padding predicted and measured agree".into(),
        wanted: "to the byte".into(),
        measured: match cells.len() {
            0 => shown(None),
            count => format!("{count} cells"),
        },
        met: (!cells.is_empty()).then_some(agreed),
    });
    targets
}

fn at_least(what: String, wanted: f64, measured: Option<f64>) -> Target {
    Target {
        what,
        wanted: format!("at least {wanted:.1}"),
        measured: shown(measured),
        met: measured.map(|measured| measured >= wanted),
    }
}

fn shown(measured: Option<f64>) -> String {
    measured.map_or("not measured".into(), |number| format!("{number:.2}"))
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;
