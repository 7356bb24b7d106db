//! Up to which stamp the word of a shard of uncertain past does not count when it takes a write. It
//! stores the entry, but may have acknowledged a newer one to the same key and lost it: the write
//! would be told done, and be older than what others still hold (decision 22).

use std::cell::Cell;

use dunlin_store::{Vector, Version};

use super::Shard;

/// What is known of the stamps that may have been acknowledged here and lost.
pub(super) struct Unsure {
    /// There was a doubt in this life.
    doubted: Cell<bool>,
    /// The newest version that any replica heard since knows of.
    newest: Cell<Version>,
    /// All replicas have been heard since.
    all_heard: Cell<bool>,
    /// The time by this shard's clock when that was first known to be right, in milliseconds.
    doubted_ms: Cell<Option<u64>>,
}

impl Unsure {
    pub fn new(is_doubted: bool) -> Unsure {
        let unsure = Unsure {
            doubted: Cell::new(false),
            newest: Cell::default(),
            all_heard: Cell::new(false),
            doubted_ms: Cell::new(None),
        };
        if is_doubted {
            unsure.doubt();
        }
        unsure
    }

    /// A doubt begins, in place of any before.
    pub fn doubt(&self) {
        self.doubted.set(true);
        self.newest.set(Version(0));
        self.all_heard.set(false);
        self.doubted_ms.set(None);
    }

    /// A replica has told what it knows.
    pub fn hear(&self, theirs: &Vector) {
        if self.all_heard.get() {
            return;
        }
        let newest = theirs.iter().map(|(_, version)| version).max();
        self.newest
            .set(self.newest.get().max(newest.unwrap_or_default()));
    }

    /// Every replica has told.
    pub fn all_are_heard(&self) {
        self.all_heard.set(true);
    }
}

/// Nothing that was acknowledged here before the doubt can be stamped above this.
///
/// `newest`: the newest version that the other replicas know of, if all of them were heard. An entry
/// that one of them stamped it knows; what was stamped here another one acknowledged, too, or nobody
/// is promised that it survives the loss of this one.
///
/// `doubted_ms`: a time after the doubt began, by a clock within `bound_ms` of most others'. The one
/// that stamped the entry was so, too, and its hybrid time within the bound of its clock.
fn unsure_to(newest: Option<Version>, doubted_ms: Option<u64>, bound_ms: u64) -> Version {
    let heard = newest.unwrap_or(Version::MAX);
    let told = doubted_ms.map_or(Version::MAX, |ms| {
        Version::new(ms, 0).plus_ms(bound_ms.saturating_mul(3))
    });
    heard.min(told)
}

impl Shard {
    /// What is stamped at or below this is stored here, but does not count as acknowledged. It stays
    /// so after the refill for what came before its end: nobody looked then.
    pub(crate) fn unsure(&self) -> Version {
        let unsure = &self.refill.unsure;
        if !unsure.doubted.get() {
            return Version(0);
        }
        if unsure.doubted_ms.get().is_none() && self.may_judge().is_ok() {
            unsure.doubted_ms.set(Some(self.clock.now_ms()));
        }
        let newest = unsure.all_heard.get().then(|| unsure.newest.get());
        unsure_to(newest, unsure.doubted_ms.get(), self.clock.bound_ms())
    }
}

#[cfg(test)]
#[path = "unsure_tests.rs"]
mod tests;
