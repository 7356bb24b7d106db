//! Means with their confidence interval over repeated runs.

use serde::Serialize;

use crate::spread::Spread;

/// What repeats of one measurement say about its true mean.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// Mean.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval of the mean, by Student's t distribution;
    /// `None` for fewer than two repeats.
    pub ci95: Option<f64>,
    /// Median.
    pub median: f64,
    /// Repeats.
    pub count: usize,
}

impl Interval {
    /// The interval of some numbers; zeros when there are none. Of paired differences it is the
    /// interval of a paired t test.
    pub fn of(numbers: &[f64]) -> Interval {
        let count = numbers.len();
        let mean = numbers.iter().sum::<f64>() / count.max(1) as f64;
        let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
        let ci95 = (count > 1).then(|| {
            let deviation = (squares / (count - 1) as f64).sqrt();
            t_975(count - 1) * deviation / (count as f64).sqrt()
        });
        Interval {
            mean,
            ci95,
            median: Spread::of(numbers.iter().copied()).median,
            count,
        }
    }

    /// The interval of what `ours - theirs` is in each repeat.
    pub fn of_differences(ours: &[f64], theirs: &[f64]) -> Interval {
        let differences: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a - b).collect();
        Interval::of(&differences)
    }

    /// The interval of what `ours / theirs` is in each repeat.
    pub fn of_ratios(ours: &[f64], theirs: &[f64]) -> Interval {
        let pairs = ours.iter().zip(theirs).filter(|&(_, &b)| b != 0.0);
        let ratios: Vec<f64> = pairs.map(|(a, b)| a / b).collect();
        Interval::of(&ratios)
    }

    /// Whether zero lies outside the confidence interval.
    pub fn is_significant(&self) -> bool {
        self.ci95.is_some_and(|half| self.mean.abs() > half)
    }
}

/// The 97.5 % quantile of Student's t distribution.
fn t_975(degrees: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    if let Some(value) = degrees.checked_sub(1).and_then(|at| TABLE.get(at)) {
        return *value;
    }
    // Beyond the table, Cornish and Fisher's expansion around the normal distribution's quantile.
    let (z, n) = (1.959_964_f64, degrees.max(1) as f64);
    z + (z.powi(3) + z) / (4.0 * n)
        + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n)
}

#[cfg(test)]
#[path = "interval_tests.rs"]
mod tests;
