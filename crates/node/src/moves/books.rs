//! What is copied in one change, and how far each part of it has come.

use std::collections::BTreeMap;

use bytes::Bytes;
use dunlin_entry::Vector;
use dunlin_proto::{Froms, Place, ShardAddress};
use tokio::time::Instant;

use super::journal::{Journal, PartNote, SourceNote};
use super::plan::Part;

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
    /// Where its log goes on behind its stored records; `None` before it was asked.
    pub(super) begin: Option<u64>,
    /// Its start for which `next` holds; 0 when it is to be asked.
    pub(super) incarnation: u32,
    /// First record of its log not read yet.
    pub(super) next: u64,
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
