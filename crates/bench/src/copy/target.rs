//! What issue 4 asks for, and whether it is reached.

use super::case::{Case, Taken};
use super::plan::VARIED_VALUE_BYTES;
use super::setting::Setting;
use super::way::Way;
use crate::report::model::Target;

/// `files` over rsync.
const FILES_RATIO: f64 = 0.8;
/// `ingest` over `insert`.
const INGEST_RATIO: f64 = 3.0;
const INGEST_MB_PER_S: f64 = 250.0;
/// What the paper reached with 40 threads, by bytes of the values.
const PAPER_MB_PER_S: [(u64, f64); 2] = [(128, 80.0), (256, 110.0)];
/// Of each side, however much is copied.
const PEAK_BYTES: u64 = 256_000_000;

/// Holds the results against the targets; what was not measured is said.
pub fn evaluate(cases: &[Case], long: Option<&Case>, settings: &[Setting]) -> Vec<Target> {
    let mut targets = Vec::new();
    for case in cases {
        let ratio = case.ratio(Way::Files, Way::Rsync);
        targets.push(at_least(
            format!("files over rsync, values of {} B", case.holds.value_bytes),
            FILES_RATIO,
            "",
            ratio.map(|ratio| ratio.median),
        ));
    }
    let case = |value_bytes| {
        let mut cases = cases.iter();
        cases.find(|case| case.holds.value_bytes == value_bytes)
    };
    let varied = case(VARIED_VALUE_BYTES);
    let ratio = varied.and_then(|case| case.ratio(Way::Ingest, Way::Insert));
    let ingest = |case: &Case| case.way(Way::Ingest).map(|taken| taken.bytes_per_s);
    let median = varied.and_then(ingest).map(|rate| rate.median / 1e6);
    targets.extend([
        at_least(
            format!("ingest over insert, values of {VARIED_VALUE_BYTES} B"),
            INGEST_RATIO,
            "",
            ratio.map(|ratio| ratio.median),
        ),
        at_least(
            format!("ingest, values of {VARIED_VALUE_BYTES} B, median"),
            INGEST_MB_PER_S,
            " MB/s",
            median,
        ),
    ]);
    for (value_bytes, mb_per_s) in PAPER_MB_PER_S {
        let least = case(value_bytes)
            .and_then(ingest)
            .map(|rate| rate.min / 1e6);
        targets.push(at_least(
            format!("ingest, values of {value_bytes} B, slowest run"),
            mb_per_s,
            " MB/s",
            least,
        ));
    }
    let ours = cases.iter().chain(long).flat_map(|case| &case.ways);
    let ours = ours.filter(|copies| copies.way.is_ours());
    let taken: Vec<&Taken> = ours
        .map(|copies| &copies.taken)
        .chain(settings.iter().map(|setting| &setting.taken))
        .collect();
    let sender = taken.iter().map(|taken| taken.sender_peak_bytes).max();
    let receiver = taken.iter().filter_map(|taken| taken.receiver_peak_bytes);
    targets.extend([below("sender", sender), below("receiver", receiver.max())]);
    targets
}

fn at_least(what: String, wanted: f64, unit: &str, measured: Option<f64>) -> Target {
    // A ratio is told by its hundredths.
    let digits = if unit.is_empty() { 2 } else { 0 };
    let shown = |number: f64| format!("{number:.digits$}{unit}");
    Target {
        what,
        wanted: format!("at least {}", shown(wanted)),
        measured: measured.map_or("not measured".into(), shown),
        met: measured.map(|measured| measured >= wanted),
    }
}

fn below(side: &str, peak_bytes: Option<u64>) -> Target {
    let shown = |bytes: u64| format!("{:.0} MB", bytes as f64 / 1e6);
    Target {
        what: format!("memory of the {side}, most of all copies of Dunlin"),
        wanted: format!("under {}", shown(PEAK_BYTES)),
        measured: peak_bytes.map_or("not measured".into(), shown),
        met: peak_bytes.map(|bytes| bytes < PEAK_BYTES),
    }
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;
