//! What is copied in one change, and how far each part of it has come.

use std::collections::BTreeMap;

use bytes::Bytes;
use dunlin_entry::Vector;
use dunlin_proto::{Froms, Place, ShardAddress};
use tokio::time::Instant;

use super::journal::{Journal, PartNote, SourceNote};
use super::plan::Part;
use crate::sabotage::Sabotage;

/// What a shard takes over in one change.
#[derive(Default)]
pub(super) struct Fill {
    /// Number of the change.
    pub(super) change: u64,
    /// All that was stored has been copied, and the logs were read to their ends.
    pub(super) filled: bool,
    /// Everything acknowledged before the joint phase is here.
    pub(super) caught_up: bool,
    /// Everything that those who leave have ever written is here.
    pub(super) level: bool,
    /// Records copied.
    pub(super) records: u64,
    /// Bytes of keys and values copied.
    pub(super) bytes: u64,
    pub(super) sources: BTreeMap<ShardAddress, Source>,
    /// Up to where anybody had the entries of each origin when all had come to the joint phase.
    pub(super) marks: Option<Vector>,
    /// When the vector last claimed what was copied.
    pub(super) claimed: Option<Instant>,
}

/// One old replica.
#[derive(Default)]
pub(super) struct Source {
    /// From where its log is still needed, whatever happens to it or to this shard; `None` before it
    /// was asked. All before is here for good, or comes with the pages that are still to be asked for.
    pub(super) begin: Option<u64>,
    /// Its start for which `next` holds; 0 when it is to be asked.
    pub(super) incarnation: u32,
    /// First record of its log not read yet.
    pub(super) next: u64,
    /// Last record of its log that it said to be on disk; `None` before it was asked.
    pub(super) synced: Option<u64>,
    /// Its vector when its log was last read to the end.
    pub(super) end: Option<Vector>,
    pub(super) parts: BTreeMap<Place, Progress>,
}

/// How far one partition has come.
pub(super) struct Progress {
    pub(super) froms: Froms,
    /// First key not copied yet; `None` when all are.
    pub(super) next: Option<Bytes>,
}

impl Progress {
    /// Whether anything of it is here: else all that the source's log had comes with its pages.
    pub(super) fn is_begun(&self) -> bool {
        self.next.as_ref().is_none_or(|next| !next.is_empty())
    }

    /// Whether the record of a key is here, so that what a source's log has had of it since is needed; else
    /// it comes with a page that is still to be asked for.
    pub(super) fn is_copied(&self, key: &[u8], sabotage: Sabotage) -> bool {
        match &self.next {
            None => true,
            Some(_) if sabotage == Sabotage::ForgetTail => false,
            Some(next) => key < &next[..],
        }
    }
}

impl Source {
    /// Whether its tail may be read while its parts are copied.
    pub(super) fn goes_beside(&self) -> bool {
        self.begin.is_some() && self.synced.is_some()
    }

    /// What was applied of its log is here for good: it is needed from there on, or from what it may
    /// itself lose.
    pub(super) fn keep(&mut self) {
        let safe = self.synced.map(|synced| self.next.min(synced + 1));
        self.begin = self.begin.max(self.begin.and(safe));
    }
}

impl Fill {
    pub(super) fn parts(&self) -> u64 {
        self.sources.values().map(|s| s.parts.len() as u64).sum()
    }

    pub(super) fn parts_done(&self) -> u64 {
        let done = |source: &Source| source.parts.values().filter(|p| p.next.is_none()).count();
        self.sources.values().map(|s| done(s) as u64).sum()
    }

    pub(super) fn begin(change: u64, journal: Option<Journal>) -> Fill {
        let mut fill = Fill {
            change,
            ..Fill::default()
        };
        for note in journal.into_iter().flat_map(|j| j.sources) {
            let parts = note.parts.iter().map(|part| {
                let place = Place {
                    keyspace: part.keyspace,
                    partition: part.partition,
                };
                let progress = Progress {
                    froms: Froms(part.froms),
                    next: part.next.clone().map(Bytes::from),
                };
                (place, progress)
            });
            let source = Source {
                begin: Some(note.begin),
                next: note.begin,
                incarnation: note.incarnation,
                // Until it is asked: it was that far, or `begin` would not be where it is.
                synced: Some(note.begin.saturating_sub(1)),
                parts: parts.collect(),
                ..Source::default()
            };
            fill.sources.insert(note.address(), source);
        }
        fill
    }

    /// Makes the books say what is to be copied.
    pub(super) fn plan(&mut self, parts: &[Part]) {
        let wanted = |address: &ShardAddress, place: &Place| {
            let mut of = parts.iter().filter(|p| p.source == *address);
            of.find(|p| p.place == *place)
        };
        for (address, source) in &mut self.sources {
            source.parts.retain(|place, progress| {
                wanted(address, place).is_some_and(|part| part.froms == progress.froms)
            });
        }
        self.sources.retain(|_, source| !source.parts.is_empty());
        for part in parts {
            let source = self.sources.entry(part.source).or_default();
            source.parts.entry(part.place).or_insert_with(|| {
                self.filled = false;
                self.caught_up = false;
                Progress {
                    froms: part.froms,
                    next: Some(Bytes::new()),
                }
            });
        }
    }

    pub(super) fn journal(&self) -> Journal {
        let sources = self.sources.iter().filter_map(|(address, source)| {
            let parts = source.parts.iter().map(|(place, progress)| PartNote {
                keyspace: place.keyspace,
                partition: place.partition,
                froms: progress.froms.0,
                next: progress.next.as_ref().map(|key| key.to_vec()),
            });
            Some(SourceNote {
                node: address.node,
                shard: address.shard,
                begin: source.begin?,
                incarnation: source.incarnation,
                parts: parts.collect(),
            })
        });
        Journal {
            change: self.change,
            sources: sources.collect(),
        }
    }
}

#[cfg(test)]
#[path = "books_tests.rs"]
mod tests;
