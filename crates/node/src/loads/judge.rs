//! Whether a replica may take a load, and how. Pure (decision 45).

use dunlin_entry::Version;

/// Deletes are forgotten between the look and the taking over, too, and are as old then as they are now,
/// and this much, in milliseconds.
const MARGIN_MS: u64 = 2_000;

/// What a replica knows when it is to take a load.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing {
    /// What its vector names of the loads of that origin.
    pub have: Version,
    /// Its past is certain, it is no twin's, and it takes records of the keyspace.
    pub is_sound: bool,
    /// No members change, and nobody takes partitions over from here.
    pub is_at_rest: bool,
    /// No delete of the keyspace with a greater stamp has been forgotten here.
    pub forgotten: Version,
    /// How long ago the load was stamped, by the own clock.
    pub age_ms: u64,
    /// No delete is forgotten that is younger.
    pub remembers_ms: u64,
}

/// How a load is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// As files, where nothing is in their way.
    Files,
    /// Through the log, as copies: who takes partitions over from here reads them there.
    Log,
    /// Not at all.
    Refuse,
}

/// How a load with this stamp is taken, that comes after the one with the stamp `after`.
pub(super) fn way(stamp: Version, after: Version, standing: &Standing) -> Way {
    let is_next = standing.have == after && stamp > after;
    // What was deleted above this stamp, and the delete forgotten, must not come back.
    let is_young = standing.age_ms.saturating_add(MARGIN_MS) < standing.remembers_ms;
    let is_remembered = standing.forgotten < stamp && is_young;
    if !standing.is_sound || !is_next || !is_remembered {
        return Way::Refuse;
    }
    match standing.is_at_rest {
        true => Way::Files,
        false => Way::Log,
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
