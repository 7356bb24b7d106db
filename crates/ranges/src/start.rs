//! Whether a replica may speak, by its own store and log; before the first descriptor, by its keyspace's record too. Pure.
//!
//! A replica that has lost what it promised, a vote or an entry, must never vote or acknowledge again: another
//! leader might be elected without an entry that was acknowledged.

use dunlin_raftlog::{GroupLog, Position};
use dunlin_versions::Meta;

use crate::group::applied;

/// What becomes of a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// None is to be here.
    Nothing,
    /// It is to be made: nothing is there, and its record has no number of it.
    Make,
    /// It is made, and its number is to be noted in the record.
    Note,
    /// Others are not made yet.
    Wait,
    /// All are made: it writes the first descriptor.
    Describe,
    /// All are made, and that is to be noted.
    Ready,
    /// It speaks.
    Speak,
    /// The same, and its log is to begin anew behind this, which the store has.
    SpeakFrom(Position),
    /// It keeps silent, and this is why.
    Mute(&'static str),
}

/// What a keyspace's record says of the replica at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Recorded {
    /// Its number; none before it was made.
    pub directory: Option<u64>,
    /// Whether its range has not changed its replicas since it began, or began again.
    pub is_beginning: bool,
    /// Whether all replicas were made.
    pub are_all: bool,
    /// Whether that is noted.
    pub ready: bool,
}

/// What a replica has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Own<'a> {
    /// The row of its store.
    pub meta: Option<&'a Meta>,
    /// Whether its store has a descriptor.
    pub has_descriptor: bool,
    pub log: Option<&'a GroupLog>,
}

/// Decides about a replica at a start, and when its record changes.
pub(crate) fn start(recorded: Option<Recorded>, own: Own<'_>) -> Start {
    let Some(meta) = own.meta else {
        return match recorded {
            None => Start::Nothing,
            Some(new) if new.directory.is_none() && !new.ready && new.is_beginning => Start::Make,
            Some(_) => Start::Mute("it holds nothing of what it once held"),
        };
    };
    if meta.is_mute {
        return Start::Mute("its data directory is a copy, or was put back from one");
    }
    let Some(log) = own.log else {
        // It was not made to its end, and nobody knows of it.
        let is_new = recorded.is_some_and(|new| new.directory.is_none() && new.is_beginning);
        return if is_new && !own.has_descriptor {
            Start::Make
        } else {
            Start::Mute("its log is gone")
        };
    };
    if log.is_broken() {
        return Start::Mute("its log contradicts itself");
    }
    if log.before().index > meta.applied {
        return Start::Mute("its store is older than its log");
    }
    let is_prepared = meta.applied == 0;
    if !own.has_descriptor && !is_prepared {
        return first(recorded, meta);
    }
    if recorded.is_some_and(|new| new.is_beginning && new.are_all && !new.ready) {
        return Start::Ready;
    }
    if log.term(meta.applied) == Some(meta.term) {
        Start::Speak
    } else {
        // A snapshot reached the store, and the log was not told: what it has is older.
        Start::SpeakFrom(applied(meta))
    }
}

/// One of the first replicas of a range, before it knows the others.
fn first(recorded: Option<Recorded>, meta: &Meta) -> Start {
    match recorded {
        None => Start::Wait,
        Some(recorded) if !recorded.is_beginning => {
            Start::Mute("the others started without it, and have changed since")
        }
        Some(recorded) => match recorded.directory {
            None => Start::Note,
            Some(directory) if directory != meta.directory => {
                Start::Mute("its data is of another replica")
            }
            Some(_) if recorded.are_all => Start::Describe,
            Some(_) => Start::Wait,
        },
    }
}

#[cfg(test)]
#[path = "start_tests.rs"]
mod tests;
