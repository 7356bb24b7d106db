//! Whether a replica may speak, by what its keyspace's record, its store and its log say. Pure.
//!
//! A replica that has lost what it promised, a vote or an entry, must never vote or acknowledge again: another
//! leader might be elected without an entry that was acknowledged.

use dunlin_raftlog::{GroupLog, Position};
use dunlin_versions::Meta;

use crate::group::applied;

/// What becomes of a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// It is to be made: nothing is there, and its record has no number of it.
    Make,
    /// It is made, and its number is to be noted in the record.
    Note,
    /// Others are not made yet.
    Wait,
    /// All are made, and that is to be noted.
    Ready,
    /// It speaks.
    Speak,
    /// The same, and its log is to begin anew behind this, which the store has.
    SpeakFrom(Position),
    /// It keeps silent, and this is why.
    Mute(&'static str),
}

/// What a keyspace's record says of a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Recorded {
    /// Its number; none before it was made.
    pub directory: Option<u64>,
    /// Whether all replicas were made.
    pub are_all: bool,
    /// Whether that is noted: since then they speak.
    pub ready: bool,
}

/// Judges a replica at a start, and when its record changes.
pub(crate) fn judge(recorded: Recorded, meta: Option<&Meta>, log: Option<&GroupLog>) -> Start {
    let Some(meta) = meta else {
        return match recorded.directory {
            None if !recorded.ready => Start::Make,
            _ => Start::Mute("it holds nothing of what it once held"),
        };
    };
    if meta.is_mute {
        return Start::Mute("its data directory is a copy, or was put back from one");
    }
    match recorded.directory {
        // It was not made to its end, and nobody knows of it.
        None if log.is_none() => return Start::Make,
        None => return Start::Note,
        Some(directory) if directory != meta.directory => {
            return Start::Mute("its data is of another replica");
        }
        Some(_) => {}
    }
    let Some(log) = log else {
        return Start::Mute("its log is gone");
    };
    if log.is_broken() {
        return Start::Mute("its log contradicts itself");
    }
    if log.before().index > meta.applied {
        return Start::Mute("its store is older than its log");
    }
    match (recorded.ready, recorded.are_all) {
        (false, false) => return Start::Wait,
        (false, true) => return Start::Ready,
        (true, _) => {}
    }
    if log.term(meta.applied) == Some(meta.term) {
        Start::Speak
    } else {
        // A snapshot reached the store, and the log was not told: what it has is older.
        Start::SpeakFrom(applied(meta))
    }
}

#[cfg(test)]
#[path = "start_tests.rs"]
mod tests;
