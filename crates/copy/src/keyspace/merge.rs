//! Pure: two streams in key order beside each other.

use crate::wire::pair::{self, Tally};

/// What two streams come to, and where they first differ.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    /// The source.
    pub ours: Tally,
    /// The keyspace; without what only it has, when that is allowed.
    pub theirs: Tally,
    /// Pairs that only the keyspace has.
    pub additional: u64,
    /// The first difference, in words.
    pub first: Option<String>,
    scratch: Vec<u8>,
}

impl Compared {
    /// Takes a pair of the source, after all of the keyspace's that stand before it; `theirs` is
    /// the keyspace's value for the same key.
    pub fn ours(&mut self, key: &[u8], value: &[u8], theirs: Option<&[u8]>) {
        let hash = pair::hash(&mut self.scratch, key, value);
        self.ours.add_hashed(key.len() + value.len(), hash);
        match theirs {
            Some(same) if same == value => {
                self.theirs.add_hashed(key.len() + value.len(), hash);
            }
            Some(other) => {
                self.add_theirs(key, other);
                self.note("has another value for", key);
            }
            None => self.note("lacks", key),
        }
    }

    /// Takes a pair that only the keyspace has.
    pub fn only_theirs(&mut self, key: &[u8], value: &[u8], is_allowed: bool) {
        self.additional += 1;
        if !is_allowed {
            self.add_theirs(key, value);
            self.note("has besides", key);
        }
    }

    fn add_theirs(&mut self, key: &[u8], value: &[u8]) {
        let hash = pair::hash(&mut self.scratch, key, value);
        self.theirs.add_hashed(key.len() + value.len(), hash);
    }

    fn note(&mut self, what: &str, key: &[u8]) {
        self.first
            .get_or_insert_with(|| format!("the keyspace {what} the key {}", key.escape_ascii()));
    }
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
