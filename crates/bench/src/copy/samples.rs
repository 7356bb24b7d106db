//! Made-up copies, for tests.

use super::case::{Bounded, Case, Copies, Taken};
use super::rate::Rates;
use super::run::{Run, Side};
use super::setting::Setting;
use super::source::Holds;
use super::way::dunlin::Call;
use super::way::{Bound, Way};
use crate::spread::Spread;

/// A run of a gigabyte at this rate, a hundredth of a second of it for syncing.
pub fn run(mb_per_s: f64, peak_mb: u64) -> Run {
    let side = |cpu_s| Side {
        cpu_s,
        peak_bytes: peak_mb * 1_000_000,
    };
    Run {
        duration_s: 1e3 / mb_per_s,
        sync_s: 0.01,
        bytes_per_s: mb_per_s * 1e6,
        sender: side(0.5),
        receiver: Some(side(0.75)),
        other_cpu_share: 0.01,
        rates: Some(Rates {
            sample_s: 1.0,
            bytes_per_s: vec![mb_per_s * 0.9e6, mb_per_s * 1.1e6],
            cv: Some(0.125),
        }),
    }
}

/// A case of these ways with the rates of their runs, in MB/s.
pub fn case(value_bytes: u64, ways: &[(Way, &[f64])]) -> Case {
    let copies = |(way, rates): &(Way, &[f64])| Copies {
        way: *way,
        taken: Taken::of(
            rates.iter().map(|&rate| run(rate, 30)).collect(),
            1_000_000_000,
        ),
    };
    Case {
        holds: Holds {
            key_bytes: 16,
            value_bytes,
            pairs: 1_000,
            bytes: 1_000_000_000,
            file_bytes: 1_010_000_000,
        },
        ways: ways.iter().map(copies).collect(),
        bounds: vec![Bounded {
            bound: Bound::Disk,
            bytes_per_s: Spread::of([2e9]),
            runs_bytes_per_s: vec![2e9],
        }],
    }
}

/// A setting with one run that took this much memory on each side.
pub fn setting(peak_mb: u64) -> Setting {
    Setting {
        call: Call::of(Way::Ingest),
        taken: Taken::of(vec![run(300.0, peak_mb)], 1_000_000_000),
    }
}
