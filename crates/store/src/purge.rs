//! Purge: when a tombstone or an expired value may be forgotten. Pure.

use std::time::Duration;

use crate::record::Record;

/// Whether a record has been dead for longer than the grace period at `now_ms` (milliseconds
/// since 1970). A delete dies when it was made, a value when it expires; `None` keeps both for
/// ever.
pub(crate) fn is_due(record: &Record<'_>, grace: Option<Duration>, now_ms: u64) -> bool {
    let Some(grace) = grace else { return false };
    let made_ms = record.stamp.version.millis();
    let died_ms = if record.tombstone {
        made_ms
    } else if let Some(expiry_ms) = record.expiry_ms {
        // A value that arrives expired is to be remembered as long as a delete made then.
        expiry_ms.max(made_ms)
    } else {
        return false;
    };
    u128::from(now_ms.saturating_sub(died_ms)) > grace.as_millis()
}

#[cfg(test)]
#[path = "purge_tests.rs"]
mod tests;
