//! Until when one attempt at a write may be stamped: pure, so that late ones lose for certain.
//!
//! Decision 24: an attempt is stamped at or below its deadline or not at all, and a further attempt
//! above the deadlines of all that were given up. So what was given up cannot come back on top.

use dunlin_entry::Version;

use crate::limits::{ATTEMPT_TIME, ATTEMPT_TIME_LEAST};

/// What a coordinator goes by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    /// Wall time here.
    pub wall: Version,
    /// Hybrid time here.
    pub hybrid: Version,
    /// How far ahead of the wall others take stamps over, in milliseconds.
    pub bound_ms: u64,
}

/// What becomes of the next attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Window {
    /// It may be stamped up to here.
    Until(Version),
    /// Any stamp would be above the whole write's deadline.
    TooLate,
    /// It would have to be stamped further ahead of the wall than others take over. Attempts that
    /// break at once push stamps ahead; the wall catches up by itself.
    TooFarAhead,
}

/// The deadline of an attempt that begins now and is stamped above `floor`, of a write that may be
/// stamped up to `deadline`.
///
/// An attempt that breaks at once sets the next floor at its deadline, ahead of the wall. So that
/// this does not run away, windows shrink as the stamps near half the bound, and none opens beyond
/// the bound.
pub(crate) fn window(now: Moment, floor: Version, deadline: Version) -> Window {
    let base = now.wall.max(now.hybrid).max(floor);
    if base >= deadline {
        return Window::TooLate;
    }
    if base > now.wall.plus_ms(now.bound_ms) {
        return Window::TooFarAhead;
    }
    let soft_limit = now.wall.plus_ms(now.bound_ms / 2);
    let room_ms = soft_limit.millis().saturating_sub(base.millis()) / 2;
    let most_ms = ATTEMPT_TIME.as_millis() as u64;
    let least_ms = ATTEMPT_TIME_LEAST.as_millis() as u64;
    Window::Until(base.plus_ms(room_ms.clamp(least_ms, most_ms)).min(deadline))
}

#[cfg(test)]
#[path = "attempt_tests.rs"]
mod tests;
