//! How long clients of this shard waited lately.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use hdrhistogram::Histogram;
use tokio::time::Instant;

/// Each window is looked at for as long again after it has ended.
const WINDOW: Duration = Duration::from_millis(250);
/// Fewer requests say nothing about a 99th percentile.
const REQUESTS_MIN: u64 = 20;

/// Latencies of the requests that a shard coordinates.
pub(crate) struct Latency {
    now_us: RefCell<Option<Histogram<u32>>>,
    since: Cell<Option<Instant>>,
    last_us_p99: Cell<u64>,
    newest_us: Cell<u64>,
}

impl Default for Latency {
    fn default() -> Self {
        Latency {
            // From 1 us to 10 min at 1 %: 12 KiB.
            now_us: RefCell::new(Histogram::new_with_bounds(1, 600_000_000, 2).ok()),
            since: Cell::new(None),
            last_us_p99: Cell::new(0),
            newest_us: Cell::new(0),
        }
    }
}

impl Latency {
    /// Takes note of a request that began at `begun`.
    pub fn record(&self, begun: Instant) {
        let spent_us = (begun.elapsed().as_micros() as u64).max(1);
        self.newest_us.set(spent_us);
        if let Some(histogram) = &mut *self.now_us.borrow_mut() {
            histogram.saturating_record(spent_us);
        }
    }

    /// How long the request took that was noted last, for whoever has just awaited it: nothing else
    /// runs between its end and there. Told once; 0 when it was refused before it was measured.
    pub fn take_newest_us(&self) -> u64 {
        self.newest_us.take()
    }

    /// Ends the window when it is time.
    pub fn tick(&self, now: Instant) {
        if self.since.get().is_some_and(|since| now - since < WINDOW) {
            return;
        }
        self.since.set(Some(now));
        if let Some(histogram) = &mut *self.now_us.borrow_mut() {
            let p99 = if histogram.len() >= REQUESTS_MIN {
                histogram.value_at_quantile(0.99)
            } else {
                0
            };
            self.last_us_p99.set(p99);
            histogram.reset();
        }
    }

    /// 99th percentile of the last window in microseconds, or of the present one when that is
    /// worse; 0 when there were hardly any requests.
    pub fn p99_us(&self) -> u64 {
        let now = match &*self.now_us.borrow() {
            Some(h) if h.len() >= REQUESTS_MIN => h.value_at_quantile(0.99),
            _ => 0,
        };
        now.max(self.last_us_p99.get())
    }
}
