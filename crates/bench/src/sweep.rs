//! Finding the highest rate that still keeps its promise: decisions only, no load.

/// Doubles the rate until it fails, then halves the gap. A failed probe is tried once more,
/// because a short probe on a shared machine may fail by chance.
#[derive(Debug, Clone)]
pub struct Sweep {
    passed: Option<f64>,
    failed: Option<f64>,
    rate: f64,
    failed_once: bool,
    precision: f64,
    probes_left: u32,
}

/// A rate below this is no result.
const RATE_MIN: f64 = 50.0;

impl Sweep {
    /// Begins at `start` per second and ends when pass and failure are within `precision`
    /// (a ratio, 0.05 for 5 %) or after `probes_max` probes.
    pub fn new(start: f64, precision: f64, probes_max: u32) -> Sweep {
        Sweep {
            passed: None,
            failed: None,
            rate: start.max(RATE_MIN),
            failed_once: false,
            precision,
            probes_left: probes_max,
        }
    }

    /// The rate to try next, `None` when the search is over.
    pub fn next_rate(&self) -> Option<f64> {
        let narrow = match (self.passed, self.failed) {
            (Some(passed), Some(failed)) => failed <= passed * (1.0 + self.precision),
            (None, Some(failed)) => failed <= RATE_MIN,
            _ => false,
        };
        (self.probes_left > 0 && !narrow).then_some(self.rate)
    }

    /// Tells how the probe at [`Sweep::next_rate`] went.
    pub fn observe(&mut self, pass: bool) {
        self.probes_left = self.probes_left.saturating_sub(1);
        if pass {
            self.passed = Some(self.rate);
        } else if !self.failed_once {
            self.failed_once = true;
            return;
        } else {
            self.failed = Some(self.rate);
        }
        self.failed_once = false;
        self.rate = match (self.passed, self.failed) {
            (Some(passed), Some(failed)) => ((passed + failed) / 2.0).round(),
            (Some(passed), None) => passed * 2.0,
            (None, Some(failed)) => (failed / 2.0).max(RATE_MIN),
            (None, None) => self.rate,
        };
    }

    /// The highest rate that passed, `None` when none did.
    pub fn best(&self) -> Option<f64> {
        self.passed
    }
}

/// Confirms a rate by full runs and corrects it where they contradict the probes.
#[derive(Debug, Clone)]
pub struct Confirm {
    rate: f64,
    passed: Option<f64>,
    failed: Option<f64>,
    rounds_left: u32,
    rounds_more: u32,
    done: bool,
}

/// Pass and failure this close are not told apart further.
const GAP: f64 = 0.08;
/// How far up a round with ample room is followed.
const STEP_UP: f64 = 1.06;
/// A round that is this good is worth trying a higher rate.
const SHARE_AMPLE: f64 = 0.975;

impl Confirm {
    /// Begins with the sweep's rate; at most `rounds_max` rounds, or twice as many where no rate
    /// was held by then.
    pub fn new(rate: f64, rounds_max: u32) -> Confirm {
        Confirm {
            rate,
            passed: None,
            failed: None,
            rounds_left: rounds_max.max(1),
            rounds_more: rounds_max,
            done: false,
        }
    }

    /// The rate of the next round, `None` when it is settled.
    pub fn next_rate(&self) -> Option<f64> {
        (!self.done).then_some(self.rate)
    }

    /// Tells how a round went: whether the rate was held, and the share of good answers.
    pub fn observe(&mut self, held: bool, share: f64) {
        self.rounds_left = self.rounds_left.saturating_sub(1);
        if self.rounds_left == 0 && self.passed.is_none() && !held {
            self.rounds_left = std::mem::take(&mut self.rounds_more);
        }
        if held {
            self.passed = Some(self.rate);
        } else {
            self.failed = Some(self.rate);
        }
        let next = match (self.passed, self.failed) {
            (Some(passed), Some(failed)) => {
                (failed > passed * (1.0 + GAP)).then_some((passed + failed) / 2.0)
            }
            (Some(passed), None) => (share >= SHARE_AMPLE).then_some(passed * STEP_UP),
            (None, _) => Some(self.rate * step_down(share)),
        };
        match next {
            Some(rate) if self.rounds_left > 0 => self.rate = rate.round(),
            _ => self.done = true,
        }
    }

    /// Ends the search where it stands.
    pub fn stop(&mut self) {
        self.done = true;
    }

    /// The highest rate that full runs held, `None` when none did.
    pub fn confirmed(&self) -> Option<f64> {
        self.passed
    }
}

/// The worse the share, the further down.
fn step_down(share: f64) -> f64 {
    if share >= 0.9 {
        0.95
    } else if share >= 0.6 {
        0.85
    } else {
        0.7
    }
}

#[cfg(test)]
#[path = "sweep_tests.rs"]
mod tests;
