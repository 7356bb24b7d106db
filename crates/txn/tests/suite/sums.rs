//! Sums that clients have added up, and the counters behind them.

use std::collections::BTreeSet;

/// A sum that was answered.
pub struct Sum {
    pub range: u64,
    pub sum: i64,
    pub invoked: u64,
    pub returned: u64,
}

/// Additions to counters, by their ends.
#[derive(Default)]
pub struct Sums {
    pub answered: Vec<Sum>,
    /// Ranges of additions without an answer, of which some may have happened.
    pub unknown: Vec<u64>,
    /// Ranges of additions that happened; what they came to is not known any more.
    pub happened: Vec<u64>,
}

/// Whether sums and counters fit together: each sum is had once, in the order of time, and each addition is there.
pub fn check(sums: &Sums, counters: &[(u64, i64)]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for one in &sums.answered {
        if !seen.insert((one.range, one.sum)) {
            return Err(format!(
                "two have the sum {} of range {}",
                one.sum, one.range
            ));
        }
        let later = |other: &&Sum| {
            let is_later = other.range == one.range && other.invoked > one.returned;
            is_later && other.sum < one.sum
        };
        if let Some(other) = sums.answered.iter().find(later) {
            return Err(format!("{} comes later than {}", other.sum, one.sum));
        }
    }
    for (range, counter) in counters {
        let of = |all: &[u64]| all.iter().filter(|of| *of == range).count() as i64;
        let answered = sums.answered.iter().filter(|sum| sum.range == *range);
        let least = answered.count() as i64 + of(&sums.happened);
        let most = least + of(&sums.unknown);
        if *counter < least || *counter > most {
            return Err(format!(
                "the counter of range {range} is {counter}, of {least} to {most}"
            ));
        }
    }
    Ok(())
}
