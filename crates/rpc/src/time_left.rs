//! The time that is left for a call, as it travels: relative, for clocks differ. Pure.
use std::time::Duration;
use tokio::time::Instant;

/// Stands for no end.
const ENDLESS: u32 = u32::MAX;

/// In milliseconds, rounded up: the answerer must not give up before the caller does.
pub(crate) fn encode(timeout: Duration) -> u32 {
    let more_ms = timeout.subsec_nanos().div_ceil(1_000_000);
    let ms = timeout.as_secs().saturating_mul(1_000);
    u32::try_from(ms.saturating_add(more_ms.into())).unwrap_or(ENDLESS)
}

/// When a call is over that was `received` with so many milliseconds left.
pub(crate) fn deadline(left_ms: u32, received: Instant) -> Option<Instant> {
    match left_ms {
        ENDLESS => None,
        ms => received.checked_add(Duration::from_millis(ms.into())),
    }
}

/// Whether nobody waits any more for a call that is to be over at `deadline`.
pub(crate) fn is_over(deadline: Option<Instant>, now: Instant) -> bool {
    deadline.is_some_and(|deadline| deadline <= now)
}

#[cfg(test)]
#[path = "time_left_tests.rs"]
mod tests;
