//! Gauge: how far somebody who follows the log is, and how fast. The same figures for every follower.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use dunlin_log::Index;
use hdrhistogram::Histogram;
use tokio::time::Instant;

use super::Segment;
use crate::rate::Rate;

/// Latencies are those of such a window.
const WINDOW: Duration = Duration::from_secs(5);

/// State and measurements of one follower.
pub(crate) struct Gauge {
    acked_index: Cell<Index>,
    /// The end of the log when it last began to follow; 0 while it does not.
    goal: Cell<Index>,
    state: Cell<&'static str>,
    /// What is sent.
    pub rate: Rate,
    latency_us: RefCell<Option<Histogram<u32>>>,
    since: Cell<Option<Instant>>,
    /// p50, p95, p99 of the last window in which anything was acknowledged.
    last_us: Cell<[u64; 3]>,
}

impl Default for Gauge {
    fn default() -> Self {
        Gauge {
            acked_index: Cell::new(0),
            goal: Cell::new(0),
            state: Cell::new("down"),
            rate: Rate::default(),
            // From 1 us to 10 min at 1 %: 12 KiB, one per pair of shards.
            latency_us: RefCell::new(Histogram::new_with_bounds(1, 600_000_000, 2).ok()),
            since: Cell::default(),
            last_us: Cell::default(),
        }
    }
}

impl Gauge {
    pub fn set_state(&self, state: &'static str) {
        self.state.set(state);
    }

    pub fn state(&self) -> &'static str {
        self.state.get()
    }

    pub fn acked_index(&self) -> Index {
        self.acked_index.get()
    }

    pub fn set_acked_index(&self, index: Index) {
        self.acked_index.set(index);
    }

    /// It begins to follow, with the log at `last`.
    pub fn begin(&self, last: Index) {
        self.goal.set(last);
    }

    /// It follows no more.
    pub fn end(&self) {
        self.goal.set(0);
    }

    /// Whether it has all that was in the log when it began to follow.
    pub fn is_current(&self) -> bool {
        self.goal.get() > 0 && self.acked_index.get() >= self.goal.get()
    }

    pub fn record_latency(&self, latency_us: u64) {
        if let Some(histogram) = &mut *self.latency_us.borrow_mut() {
            histogram.saturating_record(latency_us.max(1));
        }
    }

    /// Ends the windows when it is time.
    pub fn tick(&self, now: Instant) {
        self.rate.tick(now);
        if self.since.get().is_some_and(|since| now - since < WINDOW) {
            return;
        }
        self.since.set(Some(now));
        if let Some(histogram) = &mut *self.latency_us.borrow_mut()
            && !histogram.is_empty()
        {
            self.last_us.set(percentiles(histogram));
            histogram.reset();
        }
    }

    /// p50, p95, p99 in microseconds; zeros before the first acknowledgement.
    pub fn latency_us(&self) -> [u64; 3] {
        match (&*self.latency_us.borrow(), self.last_us.get()) {
            (Some(now), [0, 0, 0]) if !now.is_empty() => percentiles(now),
            (_, last) => last,
        }
    }
}

fn percentiles(histogram: &Histogram<u32>) -> [u64; 3] {
    [0.50, 0.95, 0.99].map(|q| histogram.value_at_quantile(q))
}

/// Bytes of the log behind the record `index`, as if those of a segment were all of one size.
pub(crate) fn bytes_behind(segments: &[Segment], index: Index) -> u64 {
    let of = |segment: &Segment| {
        let records = (segment.last_index + 1).saturating_sub(segment.first_index);
        let missed = segment.last_index.saturating_sub(index).min(records);
        let share = u128::from(segment.bytes) * u128::from(missed) / u128::from(records.max(1));
        share as u64
    };
    segments.iter().map(of).sum()
}

#[cfg(test)]
#[path = "gauge_tests.rs"]
mod tests;
