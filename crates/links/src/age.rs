//! How old a link may be: the tombstone grace is the bound. Pure.
//!
//! All entries of a *home*, the cluster that made them, are *delivered* up to a version once they are acknowledged. As
//! long as that is younger than the grace, no put arrives that is older than a delete which the receiver has forgotten.

use dunlin_entry::Version;

/// Whether a link may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Age {
    /// It may.
    Good,
    /// It may, and somebody is to look at it.
    Late,
    /// It may not, ever again: what it would send may be older than a forgotten delete.
    Broken,
}

/// The age of a link, in milliseconds: that of the version up to which its oldest home is delivered.
/// Without any it counts from when the link was made.
pub(crate) fn age_ms(
    now_ms: u64,
    created_ms: u64,
    delivered: impl IntoIterator<Item = Option<Version>>,
) -> u64 {
    let since = |delivered: Option<Version>| {
        delivered.map_or(created_ms, |delivered| delivered.millis().max(created_ms))
    };
    let oldest = delivered.into_iter().map(since).min();
    now_ms.saturating_sub(oldest.unwrap_or(created_ms))
}

/// Of an age; `grace_ms` is the smaller tombstone grace of the two keyspaces.
pub(crate) fn of(age_ms: u64, grace_ms: u64) -> Age {
    if age_ms > grace_ms / 4 * 3 {
        Age::Broken
    } else if age_ms > grace_ms / 2 {
        Age::Late
    } else {
        Age::Good
    }
}

#[cfg(test)]
#[path = "age_tests.rs"]
mod tests;
