//! Walks over keyspaces that are kept between the pages of a scan. To begin one costs a seek in each
//! partition, however few records a page takes of them.

use std::collections::VecDeque;

use bytes::Bytes;
use tokio::time::Instant;

use crate::limits::{WALK_AGE, WALKS, WALKS_BYTES};

/// Where a walk goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub keyspace: u32,
    /// The partitions that it goes over.
    pub partitions: Vec<u16>,
    pub start: Bytes,
    pub end: Option<Bytes>,
}

/// Those that nobody reads on at the moment, the oldest first.
#[derive(Debug)]
pub(crate) struct Walks<W> {
    kept: VecDeque<Kept<W>>,
}

#[derive(Debug)]
struct Kept<W> {
    place: Place,
    walk: W,
    bytes: usize,
    begun: Instant,
}

impl<W> Default for Walks<W> {
    fn default() -> Walks<W> {
        Walks {
            kept: VecDeque::new(),
        }
    }
}

impl<W> Walks<W> {
    /// One that goes on there, and when it was begun. Whether it still shows what there is, is for
    /// the taker to find out.
    pub fn take(&mut self, place: &Place) -> Option<(W, Instant)> {
        let at = self.kept.iter().rposition(|kept| kept.place == *place)?;
        let kept = self.kept.remove(at)?;
        Some((kept.walk, kept.begun))
    }

    /// Keeps a walk of so many bytes, unless it is old: it holds files and memtables that may be
    /// on their way out. Answers those that have to go for it, itself perhaps.
    pub fn keep(
        &mut self,
        place: Place,
        walk: W,
        bytes: usize,
        begun: Instant,
        now: Instant,
    ) -> Vec<W> {
        if begun + WALK_AGE <= now || bytes > WALKS_BYTES {
            return vec![walk];
        }
        let kept = Kept {
            place,
            walk,
            bytes,
            begun,
        };
        self.kept.push_back(kept);
        let mut gone = Vec::new();
        while self.kept.len() > WALKS || self.bytes() > WALKS_BYTES {
            gone.extend(self.kept.pop_front().map(|kept| kept.walk));
        }
        gone
    }

    /// Gives up those that are old.
    pub fn expire(&mut self, now: Instant) -> Vec<W> {
        let is_old = |kept: &Kept<W>| kept.begun + WALK_AGE <= now;
        let all = std::mem::take(&mut self.kept);
        let (old, young) = all.into_iter().partition::<VecDeque<_>, _>(is_old);
        self.kept = young;
        old.into_iter().map(|kept| kept.walk).collect()
    }

    /// About how many bytes they take.
    pub fn bytes(&self) -> usize {
        self.kept.iter().map(|kept| kept.bytes).sum()
    }
}

#[cfg(test)]
#[path = "walks_tests.rs"]
mod tests;
