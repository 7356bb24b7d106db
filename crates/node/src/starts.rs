//! Which starts of a node its directory knows of. A directory that is put back as an older copy
//! misses some: the next start sees that by its number, once. Should that start fail before its shards have
//! noted the doubt, those after it must see it as well. Pure.

use serde::{Deserialize, Serialize};

/// The starts of a node, as its directory knows them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Starts {
    /// Number of the last one; 0 in a new directory.
    #[serde(rename = "incarnation")]
    last: u32,
    /// After this one there were some that the directory knows nothing of, and its shards have not noted
    /// that yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    missed_after: Option<u32>,
}

impl Starts {
    /// Number of the last one; 0 in a new directory.
    pub fn last(&self) -> u32 {
        self.last
    }

    /// A start begins; answers which one the shards are to take for the last before it: where that is not
    /// the number below, they doubt what they hold. Numbers below one that is not `counted` by the
    /// metadata store were left out, and are no starts.
    pub fn begin(&mut self, incarnation: u32, counted: bool) -> u32 {
        let before = self.last;
        self.last = incarnation;
        if counted && before > 0 && incarnation > before.saturating_add(1) {
            self.missed_after.get_or_insert(before);
        }
        match self.missed_after {
            Some(after) => after,
            None if counted => before,
            None => incarnation.saturating_sub(1),
        }
    }

    /// All shards are open, and what they doubt is on their disks. False when there was nothing to note.
    pub fn noted(&mut self) -> bool {
        self.missed_after.take().is_some()
    }
}

#[cfg(test)]
#[path = "starts_tests.rs"]
mod tests;
