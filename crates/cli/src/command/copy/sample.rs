//! What was sent in each second.

use std::time::{Duration, Instant};

use dunlin_copy::Watch;
use serde::Serialize;

const EVERY: Duration = Duration::from_secs(1);
/// Samples that make up the rate of this moment.
const NOW: usize = 3;

/// One second, or what was left at the end.
#[derive(Debug, Clone, Serialize)]
pub struct Sample {
    /// Its end, in seconds from the start.
    pub at_s: f64,
    /// Bytes of keys and values, or of files, a second.
    pub bytes_per_s: f64,
    /// Pairs a second.
    pub pairs_per_s: f64,
    /// Bytes on the wire a second.
    pub wire_bytes_per_s: f64,
}

/// All samples. Time counts from the first unit's beginning: what comes before is not copying.
pub struct Samples {
    began: Option<Instant>,
    last: Instant,
    counts: [u64; 3],
    taken: Vec<Sample>,
}

impl Samples {
    /// None yet.
    pub fn start() -> Samples {
        Samples {
            began: None,
            last: Instant::now(),
            counts: [0; 3],
            taken: Vec::new(),
        }
    }

    /// Takes a sample when it is time for one.
    pub fn look(&mut self, watch: &Watch) {
        let now = Instant::now();
        let Some(began) = self.began else {
            if watch.bytes() > 0 || watch.units().total > 0 {
                self.began = Some(now);
                self.last = now;
            }
            return;
        };
        let passed = now - self.last;
        if passed < EVERY {
            return;
        }
        let counts = [watch.bytes(), watch.pairs(), watch.wire_bytes()];
        let rate = |at: usize| (counts[at] - self.counts[at]) as f64 / passed.as_secs_f64();
        self.taken.push(Sample {
            at_s: (now - began).as_secs_f64(),
            bytes_per_s: rate(0),
            pairs_per_s: rate(1),
            wire_bytes_per_s: rate(2),
        });
        (self.counts, self.last) = (counts, now);
    }

    /// Time since the first unit was begun.
    pub fn elapsed(&self) -> Duration {
        self.began.map_or(Duration::ZERO, |began| began.elapsed())
    }

    /// Bytes a second over the last few seconds.
    pub fn bytes_per_s_now(&self) -> f64 {
        let last = &self.taken[self.taken.len().saturating_sub(NOW)..];
        mean(last.iter().map(|sample| sample.bytes_per_s))
    }

    /// The samples.
    pub fn into_taken(self) -> Vec<Sample> {
        self.taken
    }
}

/// Standard deviation over mean of the samples' rates; `None` for fewer than two.
pub fn coefficient_of_variation(samples: &[Sample]) -> Option<f64> {
    let rates = || samples.iter().map(|sample| sample.bytes_per_s);
    let mean_rate = mean(rates());
    let squares: f64 = rates().map(|rate| (rate - mean_rate).powi(2)).sum();
    let deviation = (squares / samples.len().saturating_sub(1).max(1) as f64).sqrt();
    (samples.len() > 1 && mean_rate > 0.0).then(|| deviation / mean_rate)
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    // The sum of nothing is -0.
    (values.sum::<f64>() / count).max(0.0)
}

#[cfg(test)]
#[path = "sample_tests.rs"]
mod tests;
