//! Purge: when a tombstone may be forgotten. Pure.

use std::time::Duration;

use crate::record::Record;

/// Whether a delete has been remembered for longer than the grace period at `now_ms` (milliseconds
/// since 1970); `None` remembers it for ever. A delete counts from when it was made; one that ended a
/// value, from when that value's time was over. A value never goes by itself: that it is over is to be
/// logged first, for all who follow the log.
pub(crate) fn is_due(record: &Record<'_>, grace: Option<Duration>, now_ms: u64) -> bool {
    let Some(grace) = grace.filter(|_| record.tombstone) else {
        return false;
    };
    // A value may arrive when its time is over.
    let died_ms = record
        .stamp
        .version
        .millis()
        .max(record.expiry_ms.unwrap_or(0));
    u128::from(now_ms.saturating_sub(died_ms)) > grace.as_millis()
}

#[cfg(test)]
#[path = "purge_tests.rs"]
mod tests;
