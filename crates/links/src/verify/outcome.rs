//! Whether a key differs between two clusters, out of reads of both. Pure.
//!
//! The record here is read first, then, once the link has delivered all up to its position, the record there, and last the
//! one here again. The link has acknowledged the first record by then, so the other cluster has it, or a newer one, unless
//! it has lost it.

use dunlin_entry::{Entry, Kind, Rank};
use dunlin_proto::api::Difference;

/// The knowledge of this cluster about a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Known {
    /// Number of this cluster.
    pub own: u16,
    /// A delete that is newer than the record here could have been forgotten there, and never have arrived here.
    pub may_be_deleted_there: bool,
    /// All entries that the cluster of the record there made up to its version have arrived here before the last read; none
    /// where no link brings them.
    pub has_arrived: Option<bool>,
}

/// The result for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It does not differ.
    Equal,
    /// It differs.
    Different(Difference),
    /// It was written meanwhile, or is on its way here: it is read again.
    Again,
}

/// The order of a record among those of its key; the end of a value has that of the value.
fn order(record: Option<&Entry>) -> Option<Rank> {
    record.map(|record| record.rank().with_expiry(false))
}

fn has_value(record: Option<&Entry>) -> bool {
    record.is_some_and(|record| record.kind == Kind::Put)
}

/// Of a key: the record `here`, the one `there` read after it, and the one here read `last`.
pub(crate) fn outcome(
    here: Option<&Entry>,
    there: Option<&Entry>,
    last: Option<&Entry>,
    known: Known,
) -> Outcome {
    if !has_value(there) && !has_value(last) {
        // Two deletes, or forgotten ones.
        return Outcome::Equal;
    }
    if order(there) > order(here) {
        return newer_there(there, last, known);
    }
    if order(there) == order(here) {
        return same_version(here, there);
    }
    // The record there is older, or there is none.
    if order(last) != order(here) {
        return Outcome::Again;
    }
    if there.is_none() && known.may_be_deleted_there {
        return Outcome::Different(Difference::MissingOrDeletedThere);
    }
    Outcome::Different(Difference::MissingThere)
}

fn same_version(here: Option<&Entry>, there: Option<&Entry>) -> Outcome {
    let (Some(here), Some(there)) = (here, there) else {
        return Outcome::Equal;
    };
    let is_same = here.value == there.value && here.expiry_ms == there.expiry_ms;
    // One of them may have ended the value already.
    if here.kind != there.kind || is_same {
        Outcome::Equal
    } else {
        Outcome::Different(Difference::OtherValue)
    }
}

/// The record there is newer than the first one here, or there was none here.
fn newer_there(there: Option<&Entry>, last: Option<&Entry>, known: Known) -> Outcome {
    if order(last) >= order(there) {
        return Outcome::Equal;
    }
    let made_here = there.is_some_and(|there| there.stamp.origin.cluster() == known.own);
    match known.has_arrived {
        // This cluster made it: so it had it, and has deleted it since.
        _ if made_here && last.is_none() => Outcome::Different(Difference::NotDeletedThere),
        _ if made_here => Outcome::Different(Difference::MissingHere),
        Some(true) => Outcome::Different(Difference::MissingHere),
        Some(false) => Outcome::Again,
        None => Outcome::Different(Difference::NewerThere),
    }
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
