//! What was sent, or compared, in each second.

use std::time::{Duration, Instant};

use dunlin_copy::{Units, Watch};
use serde::Serialize;

const EVERY: Duration = Duration::from_secs(1);
/// Samples that make up the rate of this moment.
const NOW: usize = 3;

/// What a copy is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// Pairs or files travel.
    Sending,
    /// Source and target are read beside each other.
    Comparing,
}

/// One second of a step.
#[derive(Debug, Clone, Serialize)]
pub struct Sample {
    /// What was done in it.
    pub step: Step,
    /// Its end, in seconds from the start.
    pub at_s: f64,
    /// Bytes of keys and values, or of files, a second.
    pub bytes_per_s: f64,
    /// Pairs a second.
    pub pairs_per_s: f64,
    /// Bytes sent over connections a second.
    pub wire_bytes_per_s: f64,
}

/// All samples. Time counts from the first unit's beginning: what comes before is not copying.
pub struct Samples {
    began: Option<Instant>,
    last: Instant,
    step: Step,
    counts: [u64; 3],
    taken: Vec<Sample>,
}

impl Samples {
    /// None yet.
    pub fn start() -> Samples {
        Samples {
            began: None,
            last: Instant::now(),
            step: Step::Sending,
            counts: [0; 3],
            taken: Vec::new(),
        }
    }

    /// Takes a sample when it is time for one.
    pub fn look(&mut self, watch: &Watch) {
        let now = Instant::now();
        let units = watch.units();
        let Some(began) = self.began else {
            if watch.bytes() > 0 || units.total > 0 {
                self.began = Some(now);
                self.last = now;
                self.step = step(&units);
            }
            return;
        };
        if self.step != step(&units) {
            // A second of both would be one of neither.
            (self.step, self.last, self.counts) = (step(&units), now, [0; 3]);
            return;
        }
        let passed = now - self.last;
        if passed < EVERY {
            return;
        }
        let counts = match self.step {
            Step::Sending => [watch.bytes(), watch.pairs(), watch.wire_bytes()],
            Step::Comparing => [watch.compared_bytes(), watch.compared_pairs(), 0],
        };
        let rate = |at: usize| (counts[at] - self.counts[at]) as f64 / passed.as_secs_f64();
        self.taken.push(Sample {
            step: self.step,
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

    /// Bytes a second over the last few seconds of the step that is under way.
    pub fn bytes_per_s_now(&self) -> f64 {
        let last = &self.taken[self.taken.len().saturating_sub(NOW)..];
        let rates: Vec<f64> = rates(last, self.step).collect();
        mean(rates.iter().copied())
    }

    /// The samples.
    pub fn into_taken(self) -> Vec<Sample> {
        self.taken
    }
}

fn step(units: &Units) -> Step {
    match units.compared {
        None => Step::Sending,
        Some(_) => Step::Comparing,
    }
}

fn rates(samples: &[Sample], step: Step) -> impl Iterator<Item = f64> {
    let of_step = samples.iter().filter(move |sample| sample.step == step);
    of_step.map(|sample| sample.bytes_per_s)
}

/// Standard deviation over mean of a step's rates; `None` for fewer than two.
pub fn coefficient_of_variation(samples: &[Sample], step: Step) -> Option<f64> {
    let rates: Vec<f64> = rates(samples, step).collect();
    let mean_rate = mean(rates.iter().copied());
    let squares: f64 = rates.iter().map(|rate| (rate - mean_rate).powi(2)).sum();
    let deviation = (squares / rates.len().saturating_sub(1).max(1) as f64).sqrt();
    (rates.len() > 1 && mean_rate > 0.0).then(|| deviation / mean_rate)
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    // The sum of nothing is -0.
    (values.sum::<f64>() / count).max(0.0)
}

#[cfg(test)]
#[path = "sample_tests.rs"]
mod tests;
