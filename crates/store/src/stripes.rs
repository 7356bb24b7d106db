//! Stripes: a small table that proves most puts newest without reading what they replace.
//!
//! Each stripe holds an upper bound of the heights (`rank`; mostly versions) stored under the keys
//! that hash to it. An entry with a greater one is newest for its key. What a lost or failed write leaves behind
//! only makes a bound too high, which costs a read and never an answer.

use dunlin_entry::Version;

/// 65,536 stripes of 8 bytes: half a megabyte a store.
const STRIPES: usize = 1 << 16;

/// An upper bound that is written to disk is rounded up this far (1,024 ms of clock), so that it
/// is written once a second rather than with every batch.
const BOUND_SLACK: u64 = (1 << 26) - 1;

/// Upper bounds of stored versions by key hash.
pub(crate) struct Stripes {
    newest: Box<[u64]>,
}

impl Stripes {
    /// Every key may hold a version up to `bound`.
    pub fn new(bound: Version) -> Self {
        Self {
            newest: vec![bound.0; STRIPES].into_boxed_slice(),
        }
    }

    /// Whether `version` is greater than any stored under a key with this hash.
    pub fn proves_newest(&self, hash: u64, version: Version) -> bool {
        version.0 > self.newest[Self::at(hash)]
    }

    /// Notes that `version` is about to be stored under a key with this hash.
    pub fn raise(&mut self, hash: u64, version: Version) {
        let newest = &mut self.newest[Self::at(hash)];
        *newest = version.0.max(*newest);
    }

    /// Every key may hold a version up to `bound`.
    pub fn raise_all(&mut self, bound: Version) {
        for newest in &mut self.newest {
            *newest = bound.0.max(*newest);
        }
    }

    fn at(hash: u64) -> usize {
        hash as usize % STRIPES
    }
}

/// The bound to store when `version` passes the stored one: somewhat above it.
pub(crate) fn bound_above(version: Version) -> Version {
    Version(version.0 | BOUND_SLACK)
}

#[cfg(test)]
#[path = "stripes_tests.rs"]
mod tests;
