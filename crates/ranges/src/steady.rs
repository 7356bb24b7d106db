//! A clock that does not leap ahead: versions and ids are not let go because a clock was set ahead. Pure.
//!
//! It begins with the clock and follows it back at once. Ahead it follows by the time that has passed in this process and
//! a quarter of that, no faster. So clocks that are ahead for an hour, everywhere, cost a quarter of an hour of
//! retention; and after a machine was suspended for an hour the clock is reached within four.

/// How much faster than time passes it may go: by one part in so many.
const FASTER_PART: u64 = 4;

/// The clock, as it was read last.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Steady {
    last: Option<Reading>,
}

#[derive(Debug, Clone, Copy)]
struct Reading {
    steady_ms: u64,
    elapsed_ms: u64,
}

impl Steady {
    /// Its time in milliseconds since 1970, where a node's clock has this time and so much time has passed in its process.
    pub fn read(&mut self, clock_ms: u64, elapsed_ms: u64) -> u64 {
        let most_ms = self.last.map_or(clock_ms, |last| {
            let passed_ms = elapsed_ms.saturating_sub(last.elapsed_ms);
            let gained_ms = passed_ms.saturating_add(passed_ms / FASTER_PART);
            last.steady_ms.saturating_add(gained_ms)
        });
        let steady_ms = clock_ms.min(most_ms);
        self.last = Some(Reading {
            steady_ms,
            elapsed_ms,
        });
        steady_ms
    }
}

#[cfg(test)]
#[path = "steady_tests.rs"]
mod tests;
