//! The ranges of a transactional keyspace and who holds them, as its record says.
use crate::keyspace::{Keyspace, Mode};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The keyspace that timestamps of transactions come from, made with the first transactional one.
pub const ORACLE_KEYSPACE: &str = "_oracle";

/// A replica of a range, as it was published last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeReplica {
    /// Its number in the range. No other replica has it, nor ever will.
    pub id: u64,
    /// Id of its node.
    pub node: u16,
    /// The node's shard.
    pub shard: u16,
    /// A random number that the replica gave itself when it was made; none before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<u64>,
}

/// A shard of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RangePlace {
    /// Id of the node.
    pub node: u16,
    /// Its shard.
    pub shard: u16,
}

/// A range of a keyspace's keys. Its replicas are in its own log, and published here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeRecord {
    /// Its number in the keyspace.
    pub number: u16,
    /// Its first key; it ends where the next range begins.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub start: String,
    /// Number of the configuration that `replicas` is of. It only grows.
    pub config: u64,
    /// All replicas, by their numbers.
    pub replicas: Vec<RangeReplica>,
    /// Where replicas should be, on a node each; the first of them leads.
    pub target: Vec<RangePlace>,
    /// Number of the target. It only grows.
    #[serde(default)]
    pub planned: u64,
    /// Number of the target that `replicas` go by, as they were published.
    #[serde(default)]
    pub followed: u64,
    /// Whether all were made. Nobody votes before. Taken back only where it begins again with a new replica.
    pub ready: bool,
    /// How it was recovered last, if it ever was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovered: Option<Recovery>,
}

/// How a range was recovered last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovery {
    /// The number of the configuration with which it began again.
    pub config: u64,
    /// The number of the next replica: messages of replicas below, but for the one that was kept, are not heard any more.
    pub next: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// No timestamp below this moment, in milliseconds since 1970, is given by the range if it gives any.
    pub floor_ms: u64,
}

/// The replicas of a range, to be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeReplicas {
    /// The range's number.
    pub number: u16,
    /// The number of the configuration.
    pub config: u64,
    /// The number of the target that it goes by.
    pub followed: u64,
    /// All replicas.
    pub replicas: Vec<RangeReplica>,
}

impl RangeRecord {
    /// What becomes of it when a replica was made, or when it is seen that all were.
    pub fn with(&self, made: Option<RangeReplica>) -> RangeRecord {
        let mut with = self.clone();
        for replica in &mut with.replicas {
            let same = made.filter(|made| made.is_place_of(replica));
            replica.directory = replica.directory.or(same.and_then(|made| made.directory));
        }
        with.ready |= with.replicas.iter().all(|r| r.directory.is_some());
        with
    }

    /// The record with newly published replicas. An older configuration changes nothing.
    pub fn published(&self, now: &RangeReplicas) -> RangeRecord {
        let mut published = self.clone();
        if now.config > self.config {
            published.config = now.config;
            published.followed = now.followed;
            published.replicas = now.replicas.clone();
        }
        published
    }

    /// This beside what else is known of it: configuration, numbers and readiness only grow.
    pub(crate) fn merged(&self, known: &RangeRecord) -> RangeRecord {
        let mut merged = self.clone();
        if known.config > self.config {
            merged.config = known.config;
            merged.followed = known.followed;
            merged.replicas = known.replicas.clone();
            merged.ready = known.ready;
        }
        if known.began_again() > self.began_again() {
            merged.recovered = known.recovered;
        }
        for replica in merged
            .replicas
            .iter_mut()
            .filter(|_| known.config == self.config)
        {
            let mut others = known.replicas.iter();
            let same = others.find(|other| other.is_place_of(replica));
            replica.directory = same.and_then(|other| other.directory).or(replica.directory);
        }
        if known.planned > self.planned {
            merged.planned = known.planned;
            merged.target = known.target.clone();
        }
        merged.ready |= known.ready && known.config == self.config;
        merged
    }

    /// The configuration with which it began again; 0 where it never did.
    fn began_again(&self) -> u64 {
        self.recovered.map_or(0, |recovered| recovered.config)
    }

    /// Whether the published configuration is that with which it began, or began again: its replicas know no other.
    pub fn is_beginning(&self) -> bool {
        self.config == self.recovered.map_or(1, |recovered| recovered.config)
    }

    /// The shards of its replicas.
    pub fn places(&self) -> Vec<RangePlace> {
        let replicas = self.replicas.iter();
        let places = replicas.map(|replica| RangePlace {
            node: replica.node,
            shard: replica.shard,
        });
        places.collect()
    }

    /// With another target.
    pub(crate) fn with_target(&self, target: Vec<RangePlace>) -> RangeRecord {
        RangeRecord {
            target,
            planned: self.planned.max(self.followed) + 1,
            ..self.clone()
        }
    }
}

impl RangeReplica {
    fn is_place_of(&self, other: &RangeReplica) -> bool {
        (self.id, self.node, self.shard) == (other.id, other.node, other.shard)
    }
}

impl Keyspace {
    /// Which of its ranges has a key.
    pub fn range_of(&self, key: &[u8]) -> usize {
        if self.ranges.len() <= 1 {
            return 0;
        }
        let begun = |range: &RangeRecord| range.start.as_bytes() <= key;
        self.ranges.partition_point(begun).saturating_sub(1)
    }

    /// A range by its number.
    pub fn range(&self, number: u16) -> Option<&RangeRecord> {
        let is_it = |range: &&RangeRecord| range.number == number;
        // Where nothing was cut since, numbers are positions.
        let first = self.ranges.get(usize::from(number)).filter(is_it);
        first.or_else(|| self.ranges.iter().find(is_it))
    }

    /// Whether its ranges are as ranges must be: they begin with the first key, each behind the one before, and each has
    /// a number of its own.
    pub(crate) fn has_sound_ranges(&self) -> bool {
        let starts = self
            .ranges
            .windows(2)
            .all(|pair| pair[0].start < pair[1].start);
        let numbers: BTreeSet<u16> = self.ranges.iter().map(|range| range.number).collect();
        let begins = self
            .ranges
            .first()
            .is_some_and(|first| first.start.is_empty());
        let has_replicas = self.ranges.iter().all(|range| !range.replicas.is_empty());
        begins && starts && has_replicas && numbers.len() == self.ranges.len()
    }

    /// Where a range ends; none behind the last.
    pub fn range_end(&self, index: usize) -> Option<&str> {
        self.ranges.get(index + 1).map(|range| range.start.as_str())
    }

    /// Whether its replicas agree before they write.
    pub fn is_transactional(&self) -> bool {
        self.settings.mode == Mode::Transactional
    }

    /// This beside what else is known of it: what only grows is as great as in either.
    pub(crate) fn grown(&self, known: &Keyspace) -> Keyspace {
        let mut grown = self.widened(known.widest, known.known);
        if self.ranges.is_empty() {
            grown.ranges = known.ranges.clone();
        }
        for range in &mut grown.ranges {
            if let Some(known) = known.range(range.number) {
                *range = range.merged(known);
            }
        }
        grown
    }
}

#[cfg(test)]
#[path = "range_tests.rs"]
mod tests;
