//! Up to which timestamps keys were read or written. Pure.
//!
//! Single keys stand by themselves; for ranges of them there is a step function over keys, in which what stands at a
//! boundary holds up to the next one. It never says less than was noted, and more when it forgets: so its size is bounded
//! by two halves, of which the older is folded into one number.

use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::Bytes;
use dunlin_entry::Version;
use foldhash::HashMap;

/// Timestamps by key.
#[derive(Debug, Clone)]
pub struct Cache {
    floor: Version,
    halves: [Half; 2],
    entries_max: usize,
}

#[derive(Debug, Clone, Default)]
struct Half {
    keys: HashMap<Bytes, Version>,
    steps: BTreeMap<Bytes, Version>,
    greatest: Version,
    /// Of steps alone.
    greatest_step: Version,
}

impl Cache {
    /// One in which every key counts as read at this timestamp, and that holds so many keys and boundaries in each half.
    pub fn new(floor: Version, entries_max: usize) -> Cache {
        Cache {
            floor,
            halves: Default::default(),
            entries_max,
        }
    }

    /// The greatest timestamp at which a key may have been read or written, where that is above another; else any that is
    /// not above that.
    pub fn get_above(&self, at: Version, key: &Bytes) -> Version {
        let [newer, older] = &self.halves;
        let newer = newer.get_above(at, key);
        self.floor.max(newer).max(older.get_above(at, key))
    }

    /// A key was read or written.
    pub fn note(&mut self, at: Version, key: &Bytes) {
        if at <= self.floor {
            return;
        }
        let [newer, _] = &mut self.halves;
        newer.greatest = newer.greatest.max(at);
        match newer.keys.get_mut(key) {
            Some(noted) => *noted = (*noted).max(at),
            // A copy: the key may be a part of something large.
            None => drop(newer.keys.insert(Bytes::copy_from_slice(key), at)),
        }
        self.bound();
    }

    /// All keys from the first to before the second were read.
    pub fn note_range(&mut self, at: Version, start: &Bytes, end: Option<&Bytes>) {
        if end.is_some_and(|end| end <= start) || at <= self.floor {
            return;
        }
        let [newer, _] = &mut self.halves;
        newer.note(at, start, end);
        self.bound();
    }

    fn bound(&mut self) {
        let [newer, older] = &mut self.halves;
        if newer.keys.len() + newer.steps.len() > self.entries_max {
            self.floor = self.floor.max(older.greatest);
            *older = std::mem::take(newer);
        }
    }
}

impl Half {
    fn get_above(&self, at: Version, key: &Bytes) -> Version {
        if self.greatest <= at {
            return Version(0);
        }
        let alone = self.keys.get(key).copied().unwrap_or_default();
        if self.greatest_step <= at {
            return alone;
        }
        alone.max(self.step(key))
    }

    /// What the last boundary up to a key says.
    fn step(&self, key: &Bytes) -> Version {
        let before = self
            .steps
            .range::<Bytes, _>((Bound::Unbounded, Bound::Included(key)));
        before.last().map_or(Version(0), |(_, at)| *at)
    }

    fn note(&mut self, at: Version, start: &Bytes, end: Option<&Bytes>) {
        self.greatest = self.greatest.max(at);
        self.greatest_step = self.greatest_step.max(at);
        if let Some(end) = end {
            let behind = self.step(end);
            self.steps.insert(Bytes::copy_from_slice(end), behind);
        }
        let first = self.step(start).max(at);
        self.steps.insert(Bytes::copy_from_slice(start), first);
        let end = end.map_or(Bound::Unbounded, Bound::Excluded);
        for (_, step) in self
            .steps
            .range_mut::<Bytes, _>((Bound::Included(start), end))
        {
            *step = (*step).max(at);
        }
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
