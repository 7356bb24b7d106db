//! Timestamps for all transactions: each is given once, and above all that were given before it was asked for. Pure.
//!
//! The oracle is a range whose only key is the end of the window that timestamps are given out of; a window is given out
//! once that is applied. A new leader begins above the last window, so nothing is given twice, whatever the clocks say.
//! A former leader that does not know would give what is left of its window: so it confirms that it leads, after each
//! request came and before it answers.

use dunlin_entry::Version;

/// A window is so long, in milliseconds.
const WINDOW_MS: u64 = 1_000;

/// What is left of a window, at who leads.
#[derive(Debug, Clone, Copy)]
pub struct Oracle {
    last: Version,
    end: Version,
}

/// The window is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full {
    /// Where the next one is to end.
    pub next_end: Version,
}

impl Oracle {
    /// One that begins to lead where the last window ends here.
    pub fn new(end: Version) -> Oracle {
        Oracle { last: end, end }
    }

    /// A window that ends here is applied.
    pub fn extend(&mut self, end: Version) {
        self.end = self.end.max(end);
    }

    /// So many timestamps, the first of them, at this time of the clock and above a version.
    ///
    /// # Errors
    /// `Full` when a further window is needed.
    pub fn take(&mut self, now: Version, above: Version, count: u32) -> Result<Version, Full> {
        let least = self.last.max(above).0.saturating_add(1);
        let first = now.max(Version(least));
        let last = Version(first.0.saturating_add(u64::from(count.max(1)) - 1));
        if last > self.end {
            return Err(Full {
                next_end: last.plus_ms(WINDOW_MS),
            });
        }
        self.last = last;
        Ok(first)
    }
}

#[cfg(test)]
#[path = "oracle_tests.rs"]
mod tests;
