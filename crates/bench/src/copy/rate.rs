//! Rates over time out of a counter that was looked at now and then.

use serde::Serialize;

/// Below and above these shares of all bytes the copy begins and ends; it is not what is rated.
const EDGE: f64 = 0.001;
/// A run at least this long is rated second by second.
const LONG_S: f64 = 5.0;
/// Length of a sample of a long run, in seconds.
const SAMPLE_S: f64 = 1.0;
/// Length of a sample of a shorter one.
const SAMPLE_S_SHORT: f64 = 0.25;

/// The rates of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rates {
    /// Length of each sample.
    pub sample_s: f64,
    /// One behind the other, in bytes a second.
    pub bytes_per_s: Vec<f64>,
    /// Their coefficient of variation; `None` for fewer than two.
    pub cv: Option<f64>,
}

impl Rates {
    /// Of `points` (seconds, count), the count being of anything that is proportional to the
    /// `bytes` copied. A part of a sample at the end is left out.
    pub fn of(points: &[(f64, u64)], bytes: u64) -> Rates {
        let first = points.first().map_or(0, |point| point.1);
        let counted = points.last().map_or(0, |point| point.1 - first) as f64;
        let shares: Vec<(f64, f64)> = points
            .iter()
            .map(|&(at_s, count)| (at_s, (count - first) as f64 / counted.max(1.0)))
            .collect();
        // The last point before the copy begins, and the first one at which it has ended.
        let begin = shares.iter().rev().find(|point| point.1 < EDGE);
        let end = shares.iter().find(|point| point.1 > 1.0 - EDGE);
        let (begin_s, end_s) = match (begin, end) {
            (Some(begin), Some(end)) if counted > 0.0 => (begin.0, end.0),
            _ => (0.0, 0.0),
        };
        let sample_s = if end_s - begin_s >= LONG_S {
            SAMPLE_S
        } else {
            SAMPLE_S_SHORT
        };
        let samples = ((end_s - begin_s) / sample_s + 1e-9).floor() as usize;
        let share_at = |at: usize| share(&shares, begin_s + at as f64 * sample_s);
        let rate = |at| (share_at(at + 1) - share_at(at)) * bytes as f64 / sample_s;
        let bytes_per_s: Vec<f64> = (0..samples).map(rate).collect();
        Rates {
            sample_s,
            cv: coefficient_of_variation(&bytes_per_s),
            bytes_per_s,
        }
    }

    /// (end of the sample in seconds, MB/s).
    pub fn curve(&self) -> Vec<(f64, f64)> {
        let ends = (1..).map(|at: u32| f64::from(at) * self.sample_s);
        let mb_per_s = self.bytes_per_s.iter().map(|rate| rate / 1e6);
        ends.zip(mb_per_s).collect()
    }
}

/// The share at a time, between two points on the line through them.
fn share(points: &[(f64, f64)], at_s: f64) -> f64 {
    let next = points.partition_point(|point| point.0 < at_s);
    let Some(&(next_s, next_share)) = points.get(next) else {
        return points.last().map_or(0.0, |point| point.1);
    };
    match next.checked_sub(1).and_then(|last| points.get(last)) {
        Some(&(last_s, last_share)) => {
            let part = (at_s - last_s) / (next_s - last_s).max(1e-9);
            last_share + part * (next_share - last_share)
        }
        None => next_share,
    }
}

/// Standard deviation over mean.
fn coefficient_of_variation(rates: &[f64]) -> Option<f64> {
    let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
    let deviation = (squares / rates.len().saturating_sub(1).max(1) as f64).sqrt();
    (rates.len() > 1 && mean > 0.0).then(|| deviation / mean)
}

#[cfg(test)]
#[path = "rate_tests.rs"]
mod tests;
