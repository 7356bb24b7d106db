//! What the leader of a range must remember, and refuses by it before it proposes. Pure.
//!
//! A read at a timestamp has been answered for good: nothing may be written to its keys at or below it later. The next
//! leader knows nothing of what was read here; it takes all keys for read at a timestamp that the oracle gave it after it
//! began to lead, which is above all that this one has let through.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

use bytes::Bytes;
use dunlin_entry::Version;

use crate::cache::Cache;
use crate::command::Command;

/// Boundaries in each half of the cache.
const BOUNDARIES_MAX: usize = 1 << 17;

/// A write at a timestamp that something was read or written at or above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooOld(pub Version);

/// What a leader remembers for as long as it leads.
#[derive(Debug, Clone)]
pub struct Leader {
    cache: Cache,
    /// Keys of entries that are proposed and not applied, with the index of the last.
    latched: BTreeMap<Bytes, u64>,
    /// The same in the order of the log.
    proposed: VecDeque<(u64, Bytes)>,
}

impl Leader {
    /// One that begins now, with a timestamp given to it since then.
    pub fn new(floor: Version) -> Leader {
        Leader {
            cache: Cache::new(floor, BOUNDARIES_MAX),
            latched: BTreeMap::new(),
            proposed: VecDeque::new(),
        }
    }

    /// Keys from the first to before the second are read at a timestamp. The index that must be applied before they are
    /// looked at, if there is one: of what was proposed before.
    pub fn read(&mut self, at: Version, start: &Bytes, end: Option<&Bytes>) -> Option<u64> {
        self.cache.note_range(at, start, end);
        if end.is_some_and(|end| end <= start) {
            return None;
        }
        let end = end.map_or(Bound::Unbounded, Bound::Excluded);
        let within = self
            .latched
            .range::<Bytes, _>((Bound::Included(start), end));
        within.map(|(_, index)| *index).max()
    }

    /// The same with one key.
    pub fn read_key(&mut self, at: Version, key: &Bytes) -> Option<u64> {
        self.cache.note(at, key);
        self.latched.get(key).copied()
    }

    /// Whether an entry may be proposed.
    ///
    /// # Errors
    /// `TooOld` where one of its keys was read or written later.
    pub fn may_propose(&self, command: &Command) -> Result<(), TooOld> {
        let Some(at) = at(command) else {
            return Ok(());
        };
        for key in keys(command) {
            let read = self.cache.get(key);
            // A transaction reads and writes at one timestamp.
            if read > at {
                return Err(TooOld(read));
            }
        }
        Ok(())
    }

    /// An entry is proposed, and has this index.
    pub fn proposed(&mut self, command: &Command, index: u64) {
        let Some(at) = at(command) else {
            return;
        };
        for key in keys(command) {
            self.cache.note(at, key);
            self.latched.insert(key.clone(), index);
            self.proposed.push_back((index, key.clone()));
        }
    }

    /// All entries up to this index are applied.
    pub fn applied(&mut self, index: u64) {
        while let Some((first, key)) = self.proposed.front() {
            if *first > index {
                return;
            }
            if self.latched.get(key) == Some(first) {
                self.latched.remove(key);
            }
            self.proposed.pop_front();
        }
    }
}

/// The timestamp at which an entry writes to keys.
fn at(command: &Command) -> Option<Version> {
    match command {
        Command::Write { at, .. } => Some(*at),
        Command::Commit { txn, .. } | Command::Place { txn, .. } => Some(*txn),
        _ => None,
    }
}

fn keys(command: &Command) -> impl Iterator<Item = &Bytes> {
    let writes = match command {
        Command::Write { write, .. } => std::slice::from_ref(write),
        Command::Commit { writes, .. } | Command::Place { writes, .. } => writes,
        _ => &[],
    };
    writes.iter().map(|write| &write.key)
}

#[cfg(test)]
#[path = "leader_tests.rs"]
mod tests;
