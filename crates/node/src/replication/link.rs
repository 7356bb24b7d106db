//! Measurements of one direction of replication.

use std::cell::{Cell, RefCell};

use dunlin_log::Index;
use hdrhistogram::Histogram;

use crate::rate::Rate;

/// State and measurements of the stream to one peer.
pub(crate) struct Link {
    acked_index: Cell<Index>,
    /// The end of the log when the stream last began; 0 while there is none.
    goal: Cell<Index>,
    state: Cell<&'static str>,
    /// What is sent.
    pub rate: Rate,
    latency_us: RefCell<Option<Histogram<u32>>>,
}

impl Default for Link {
    fn default() -> Self {
        Link {
            acked_index: Cell::new(0),
            goal: Cell::new(0),
            state: Cell::new("down"),
            rate: Rate::default(),
            // From 1 us to 10 min at 1 %: 12 KiB, one per pair of shards.
            latency_us: RefCell::new(Histogram::new_with_bounds(1, 600_000_000, 2).ok()),
        }
    }
}

impl Link {
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

    /// A stream begins, with the log at `last`.
    pub fn begin(&self, last: Index) {
        self.goal.set(last);
    }

    /// The stream has ended.
    pub fn end(&self) {
        self.goal.set(0);
    }

    /// Whether the peer has all that was in the log when the stream to it began.
    pub fn is_current(&self) -> bool {
        self.goal.get() > 0 && self.acked_index.get() >= self.goal.get()
    }

    pub fn record_latency(&self, latency_us: u64) {
        if let Some(histogram) = &mut *self.latency_us.borrow_mut() {
            histogram.saturating_record(latency_us.max(1));
        }
    }

    /// p50, p95, p99 in microseconds; zeros before the first acknowledgement.
    pub fn latency_us(&self) -> [u64; 3] {
        match &*self.latency_us.borrow() {
            Some(h) if !h.is_empty() => [0.50, 0.95, 0.99].map(|q| h.value_at_quantile(q)),
            _ => [0; 3],
        }
    }
}
