//! How old a link may be: the tombstone grace is the bound. Pure.
//!
//! All entries of a *home*, the cluster that made them, are *delivered* up to a version once they are acknowledged. As
//! long as that is younger than the grace, no put arrives that is older than a delete which the receiver has forgotten.

use dunlin_proto::api::{HomeProgress, Homes};

use crate::home::home_of;

/// Whether a link may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Age {
    /// It may.
    Good,
    /// It may, and somebody is to look at it.
    Late,
    /// It may not, ever again: what it would send may be older than a forgotten delete.
    Broken,
}

/// The age of a link, and the home that it depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checked {
    pub age: Age,
    pub age_ms: u64,
    /// None where no home is known yet.
    pub home: Option<String>,
}

/// The age of a home at a link, in milliseconds.
fn home_age_ms(now_ms: u64, home: &HomeProgress) -> u64 {
    let reached = home.delivered.unwrap_or_default().max(home.since);
    now_ms.saturating_sub(reached.0.millis())
}

/// Of an age; `grace_ms` is the smaller tombstone grace of the two keyspaces. The entries of other clusters than the
/// sender have an eighth of the grace more: in that time the sender gives up a broken link that brings them, and no
/// longer waits for it.
pub(crate) fn of(age_ms: u64, grace_ms: u64, is_senders: bool) -> Age {
    let broken_ms = if is_senders {
        grace_ms / 4 * 3
    } else {
        grace_ms / 8 * 7
    };
    if age_ms > broken_ms {
        Age::Broken
    } else if age_ms > grace_ms / 2 {
        Age::Late
    } else {
        Age::Good
    }
}

/// The age of a link from `sender`: that of its home furthest behind. Before it has any, it counts from `created_ms`.
pub(crate) fn check(
    now_ms: u64,
    grace_ms: u64,
    (sender, created_ms): (&str, u64),
    homes: &Homes,
) -> Checked {
    let of_home = |(home, progress): (&String, &HomeProgress)| {
        let age_ms = home_age_ms(now_ms, progress);
        Checked {
            age: of(age_ms, grace_ms, home_of(home).0 == sender),
            age_ms,
            home: Some(home.clone()),
        }
    };
    let worst = homes.iter().map(of_home).max_by_key(|c| (c.age, c.age_ms));
    worst.unwrap_or_else(|| {
        let age_ms = now_ms.saturating_sub(created_ms);
        Checked {
            age: of(age_ms, grace_ms, true),
            age_ms,
            home: None,
        }
    })
}

#[cfg(test)]
#[path = "age_tests.rs"]
mod tests;
