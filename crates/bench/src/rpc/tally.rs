//! Counts calls, their latencies, and the CPU time of both sides, between two moments.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::host::pinned::ThreadClock;

/// Nanoseconds of a latency are kept to three digits.
const DIGITS: u8 = 3;

/// How long calls are made, and from when on they count.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Not counted.
    pub warm: Duration,
    /// Counted.
    pub window: Duration,
}

/// What a case came to.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct CallFigures {
    /// Calls that were answered, a second.
    pub per_s: f64,
    /// Microseconds from the call to its answer, median.
    pub p50_us: f64,
    /// 90 of 100.
    pub p90_us: f64,
    /// 99 of 100.
    pub p99_us: f64,
    /// 999 of 1,000.
    pub p999_us: f64,
    /// CPU of the client's thread for each call, in microseconds.
    pub client_us: f64,
    /// CPU of the server's thread for each.
    pub server_us: f64,
}

/// The count of one run, at the client's thread.
pub struct Tally {
    open_at: Instant,
    close_at: Instant,
    sides: [ThreadClock; 2],
    latencies_ns: RefCell<Option<Histogram<u64>>>,
    /// When it opened and closed, and the CPU time of client and server then.
    opened: Cell<Option<(Instant, [Duration; 2])>>,
    closed: Cell<Option<(Instant, [Duration; 2])>>,
}

impl Tally {
    /// One that begins to wait now. `server` is the thread that answers; this one calls.
    pub fn new(times: Times, server: ThreadClock) -> Tally {
        let open_at = Instant::now() + times.warm;
        Tally {
            open_at,
            close_at: open_at + times.window,
            sides: [ThreadClock::of_this(), server],
            latencies_ns: RefCell::new(Histogram::new(DIGITS).ok()),
            opened: Cell::new(None),
            closed: Cell::new(None),
        }
    }

    /// Counts a call that was made at `began` and is answered now. Whether another is wanted.
    pub fn add(&self, began: Instant) -> bool {
        let now = Instant::now();
        if now < self.open_at {
            return true;
        }
        let cpu = || self.sides.map(ThreadClock::total);
        if self.opened.get().is_none() {
            self.opened.set(Some((now, cpu())));
            return true;
        }
        if self.closed.get().is_some() {
            return false;
        }
        if let Some(latencies) = &mut *self.latencies_ns.borrow_mut() {
            let ns = now.duration_since(began).as_nanos();
            // It grows by itself.
            latencies.record(u64::try_from(ns).unwrap_or(u64::MAX)).ok();
        }
        if now >= self.close_at {
            self.closed.set(Some((now, cpu())));
        }
        self.closed.get().is_none()
    }

    /// The figures; none where it was not closed.
    pub fn figures(&self) -> Option<CallFigures> {
        let (from, cpu_from) = self.opened.get()?;
        let (to, cpu_to) = self.closed.get()?;
        let latencies = self.latencies_ns.borrow();
        let latencies = latencies.as_ref()?;
        let calls = latencies.len() as f64;
        let us = |part: f64| latencies.value_at_quantile(part) as f64 / 1e3;
        let cpu = |side: usize| {
            let took = cpu_to[side].saturating_sub(cpu_from[side]);
            took.as_secs_f64() * 1e6 / calls.max(1.0)
        };
        Some(CallFigures {
            per_s: calls / to.duration_since(from).as_secs_f64(),
            p50_us: us(0.5),
            p90_us: us(0.9),
            p99_us: us(0.99),
            p999_us: us(0.999),
            client_us: cpu(0),
            server_us: cpu(1),
        })
    }
}

#[cfg(test)]
#[path = "tally_tests.rs"]
mod tests;
