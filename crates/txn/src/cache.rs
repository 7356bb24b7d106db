//! Up to which timestamps keys were read or written. Pure.
//!
//! A step function over keys: what stands at a boundary holds up to the next one. It never says less than was noted,
//! and more when it forgets: so its size is bounded by two halves, of which the older is folded into one number.

use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::Bytes;
use dunlin_entry::Version;

/// Timestamps by key.
#[derive(Debug, Clone)]
pub struct Cache {
    floor: Version,
    halves: [Half; 2],
    boundaries_max: usize,
}

#[derive(Debug, Clone, Default)]
struct Half {
    steps: BTreeMap<Bytes, Version>,
    greatest: Version,
}

impl Cache {
    /// One in which every key counts as read at this timestamp, and that holds so many boundaries in each half.
    pub fn new(floor: Version, boundaries_max: usize) -> Cache {
        Cache {
            floor,
            halves: Default::default(),
            boundaries_max,
        }
    }

    /// The greatest timestamp at which a key may have been read or written.
    pub fn get(&self, key: &Bytes) -> Version {
        let [newer, older] = &self.halves;
        self.floor.max(newer.get(key)).max(older.get(key))
    }

    /// A key was read or written.
    pub fn note(&mut self, at: Version, key: &Bytes) {
        if self.get(key) < at {
            let mut behind = Vec::with_capacity(key.len() + 1);
            behind.extend_from_slice(key);
            behind.push(0);
            self.note_range(at, key, Some(&behind.into()));
        }
    }

    /// All keys from the first to before the second were read.
    pub fn note_range(&mut self, at: Version, start: &Bytes, end: Option<&Bytes>) {
        if end.is_some_and(|end| end <= start) || at <= self.floor {
            return;
        }
        let [newer, older] = &mut self.halves;
        newer.note(at, start, end);
        if newer.steps.len() > self.boundaries_max {
            self.floor = self.floor.max(older.greatest);
            *older = std::mem::take(newer);
        }
    }
}

impl Half {
    fn get(&self, key: &Bytes) -> Version {
        let before = self
            .steps
            .range::<Bytes, _>((Bound::Unbounded, Bound::Included(key)));
        before.last().map_or(Version(0), |(_, at)| *at)
    }

    fn note(&mut self, at: Version, start: &Bytes, end: Option<&Bytes>) {
        self.greatest = self.greatest.max(at);
        if let Some(end) = end {
            let behind = self.get(end);
            self.steps.insert(end.clone(), behind);
        }
        let first = self.get(start).max(at);
        self.steps.insert(start.clone(), first);
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
