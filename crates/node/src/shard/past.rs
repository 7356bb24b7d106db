//! Whether what a shard finds at its start is all it ever acknowledged. Pure.

use serde::{Deserialize, Serialize};

use super::mark::Found;

/// Why a shard's past is not certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Doubt {
    /// It holds nothing, in a cluster with others.
    Empty,
    /// `dunlin log repair` has cut the log.
    Repaired,
    /// The machine went down, and the log's end was torn.
    Torn,
    /// The machine went down before all that keyspaces acknowledge without a sync was on disk.
    Unsynced,
    /// The directory is a copy, or there were starts that it knows nothing of.
    Restored,
    /// The directory is a copy of what the last start that is known of closed. A start without the
    /// metadata store may have come after it.
    Moved,
    /// Another shard has been told of more than is here.
    Contradicted,
    /// Only its end was missing, and then one whose own past is not certain gave it records.
    Mixed,
}

impl Doubt {
    /// What it means, for people.
    pub fn reason(self) -> &'static str {
        match self {
            Doubt::Empty => "it holds no data",
            Doubt::Repaired => "its log was cut by a repair",
            Doubt::Torn => "the machine went down while its log was written",
            Doubt::Unsynced => {
                "the machine went down, and not every keyspace syncs before it acknowledges"
            }
            Doubt::Restored => "its data directory is an older copy",
            Doubt::Moved => "its data directory is a copy, perhaps not of its last state",
            Doubt::Contradicted => "it once said that it holds more than it does",
            Doubt::Mixed => "one that holds older data, or none, has given it records",
        }
    }

    /// Whether only an end is missing: what is left is what there was at some moment, the vector is
    /// true of it, and no later than a moment ago. Otherwise deletes may have been forgotten by all
    /// others since, and a comparison of all records must tell.
    pub fn lost_the_end_only(self) -> bool {
        matches!(
            self,
            Doubt::Repaired | Doubt::Torn | Doubt::Unsynced | Doubt::Moved
        )
    }
}

/// What is known at a start, before any other shard has been heard.
#[derive(Debug, Clone)]
pub(super) struct Evidence {
    /// The mark of the life before.
    pub found: Found,
    /// The machine's time since it was switched on.
    pub boot: Option<String>,
    /// A refill that was begun earlier and has not ended.
    pub begun: Option<Doubt>,
    /// The log holds nothing.
    pub is_empty: bool,
    /// No other node is known.
    pub is_alone: bool,
    /// The log's end was cut.
    pub is_torn: bool,
    /// A keyspace acknowledges before it syncs, or it is not known.
    pub is_lax: bool,
    /// Start of the node before this one, as its directory remembers; 0 when it is new.
    pub known_incarnation: u32,
    /// This start.
    pub incarnation: u32,
    /// The newest file of the log was put back over itself.
    pub is_put_back: bool,
    /// Last record of the log.
    pub last: u64,
}

/// Why the past is not certain, if so.
pub(super) fn doubt(evidence: &Evidence) -> Option<Doubt> {
    let now = judge(evidence);
    // The worse of the two: a copy of a directory that was being filled is to be compared anew.
    match (evidence.begun, now) {
        (Some(begun), Some(now)) if begun.lost_the_end_only() => Some(now),
        (Some(begun), _) => Some(begun),
        (None, now) => now,
    }
}

/// Whether it is an older copy by what opening the log may change, and a start that ends in between
/// must not hide: the log's newest file, put back over itself.
pub(super) fn is_put_back(found: &Found, is_put_back: bool) -> bool {
    let Found::Mark { mark, is_original } = found else {
        return false;
    };
    is_put_back && *is_original && mark.closed_at.is_none()
}

fn judge(evidence: &Evidence) -> Option<Doubt> {
    if evidence.is_empty {
        return (!evidence.is_alone).then_some(Doubt::Empty);
    }
    let known = evidence.known_incarnation;
    if known > 0 && evidence.incarnation > known.saturating_add(1) {
        return Some(Doubt::Restored);
    }
    let (mark, is_original) = match &evidence.found {
        // The disk was full when it was to be written.
        Found::None => return evidence.is_torn.then_some(Doubt::Torn),
        Found::Damaged => return Some(Doubt::Restored),
        Found::Mark { mark, is_original } => (mark, *is_original),
    };
    if !is_original {
        // Closed by the last start that the metadata store counted: a copy made since lacks
        // nothing, unless there was one that it did not count.
        let is_last = mark.closed_at.is_some() && mark.incarnation == known;
        return match (is_last, evidence.is_alone) {
            (false, _) => Some(Doubt::Restored),
            (true, false) => Some(Doubt::Moved),
            (true, true) => None,
        };
    }
    let is_set_back = match mark.closed_at {
        Some(closed_at) => closed_at > evidence.last,
        None => evidence.is_put_back,
    };
    if is_set_back {
        return Some(Doubt::Restored);
    }
    let is_same_boot = mark.boot.is_some() && mark.boot == evidence.boot;
    // The operating system still has what a process that was killed had written; where a write was
    // cut short, nobody had been told of it.
    if is_same_boot && !mark.recovering {
        return None;
    }
    match (mark.closed_at.is_some(), evidence.is_lax) {
        _ if evidence.is_torn || mark.recovering => Some(Doubt::Torn),
        (true, _) | (false, false) => None,
        (false, true) => Some(Doubt::Unsynced),
    }
}

#[cfg(test)]
#[path = "past_tests.rs"]
mod tests;
