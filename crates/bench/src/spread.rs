//! Medians with their spread over repeated runs.

use std::time::Duration;

use serde::Serialize;

/// The median of repeats, between the least and the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Median; the mean of the middle two when their number is even.
    pub median: f64,
    /// Least.
    pub min: f64,
    /// Greatest.
    pub max: f64,
}

impl Spread {
    /// The spread of some numbers, zeros when there are none.
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> Spread {
        let mut sorted: Vec<f64> = numbers.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let middle = |index: usize| sorted.get(index).copied().unwrap_or(0.0);
        let count = sorted.len();
        Spread {
            median: (middle(count.saturating_sub(1) / 2) + middle(count / 2)) / 2.0,
            min: middle(0),
            max: middle(count.saturating_sub(1)),
        }
    }
}

/// The time that so many of 100 took at most, of all in order, in microseconds; zero where there are none.
pub fn percentile_us(took: &[Duration], percent: usize) -> f64 {
    let at = took.get(took.len() * percent / 100).copied();
    at.unwrap_or_default().as_secs_f64() * 1e6
}

/// A case with its runs, one of each round.
#[derive(Debug, Clone, Serialize)]
pub struct Runs<C, F> {
    /// The case.
    pub case: C,
    /// Its figures in each round.
    pub runs: Vec<F>,
}

impl<C, F> Runs<C, F> {
    /// Cases that have not run yet.
    pub fn all(cases: impl IntoIterator<Item = C>) -> Vec<Runs<C, F>> {
        let none = |case| Runs {
            case,
            runs: Vec::new(),
        };
        cases.into_iter().map(none).collect()
    }

    /// The spread of a figure over the rounds.
    pub fn spread(&self, figure: impl Fn(&F) -> f64) -> Spread {
        Spread::of(self.runs.iter().map(figure))
    }
}

#[cfg(test)]
#[path = "spread_tests.rs"]
mod tests;
