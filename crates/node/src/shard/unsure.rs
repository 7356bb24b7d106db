//! Up to which stamp the word of a shard of uncertain past does not count when it takes a write. It
//! stores the entry, but may have acknowledged a newer one to the same key and lost it: the write
//! would be told done, and be older than what others still hold (decision 22).

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use dunlin_entry::{Vector, Version};

use super::Shard;

/// What is known of the stamps that may have been acknowledged here and lost.
pub(super) struct Unsure {
    /// What follows from the rest, once that is certain; 0 as long as there was no doubt in this life.
    settled: Cell<Option<Version>>,
    /// Of each origin the versions that the replicas heard since know of.
    heard: RefCell<BTreeSet<Version>>,
    /// All replicas have been heard since.
    all_heard: Cell<bool>,
    /// The time by this shard's clock when that was first known to be right, in milliseconds.
    doubted_ms: Cell<Option<u64>>,
}

impl Unsure {
    pub fn new(is_doubted: bool) -> Unsure {
        let unsure = Unsure {
            settled: Cell::new(Some(Version(0))),
            heard: RefCell::default(),
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
        self.settled.set(None);
        self.heard.borrow_mut().clear();
        self.all_heard.set(false);
        self.doubted_ms.set(None);
    }

    /// A replica has told what it knows.
    pub fn hear(&self, theirs: &Vector) {
        if !self.all_heard.get() {
            let versions = theirs.iter().map(|(_, version)| version);
            self.heard.borrow_mut().extend(versions);
        }
    }

    /// Every replica has told.
    pub fn all_are_heard(&self) {
        self.all_heard.set(true);
    }

    /// `clock_ms`: by a clock that is known to be right.
    fn to(&self, clock_ms: impl FnOnce() -> Option<u64>, bound_ms: u64) -> Version {
        if let Some(settled) = self.settled.get() {
            return settled;
        }
        if self.doubted_ms.get().is_none() {
            self.doubted_ms.set(clock_ms());
        }
        let (heard, doubted_ms) = (self.heard.borrow(), self.doubted_ms.get());
        let all_heard = self.all_heard.get();
        let unsure = unsure_to(all_heard.then_some(&*heard), doubted_ms, bound_ms);
        if all_heard && doubted_ms.is_some() {
            self.settled.set(Some(unsure));
        }
        unsure
    }
}

/// Nothing that was acknowledged here before the doubt can be stamped above this.
///
/// `doubted_ms`: a time after the doubt began, by a clock within `bound_ms` of most others'. The one
/// that stamped the entry was so, too, and its hybrid time within the bound of its clock: what is
/// stamped later was not acknowledged here before.
///
/// `heard`: the versions that the other replicas know of, if all of them were heard. An entry that
/// one of them stamped it knows; what was stamped here another one acknowledged, too, or nobody is
/// promised that it survives the loss of this one.
fn unsure_to(heard: Option<&BTreeSet<Version>>, doubted_ms: Option<u64>, bound_ms: u64) -> Version {
    let told = doubted_ms.map_or(Version::MAX, |ms| {
        Version::new(ms, 0).plus_ms(bound_ms.saturating_mul(3))
    });
    let Some(heard) = heard else {
        return told;
    };
    let newest = heard.range(..=told).next_back();
    newest.copied().unwrap_or_default()
}

impl Shard {
    /// What is stamped at or below this is stored here, but does not count as acknowledged. It stays
    /// so after the refill for what came before its end: nobody looked then.
    pub(crate) fn unsure(&self) -> Version {
        let clock_ms = || self.may_judge().is_ok().then(|| self.clock.now_ms());
        self.refill.unsure.to(clock_ms, self.clock.bound_ms())
    }
}

#[cfg(test)]
#[path = "unsure_tests.rs"]
mod tests;
