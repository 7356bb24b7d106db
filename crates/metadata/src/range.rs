//! The ranges of a transactional keyspace and who holds them, as its record says.
use crate::error::MetadataError;
use crate::keyspace::{Keyspace, KeyspaceSettings, Mode};
use crate::topology::Topology;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

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
    /// Where replicas should be.
    pub target: Vec<RangePlace>,
    /// Whether all were made. Nobody votes before. Never taken back.
    pub ready: bool,
}

/// The replicas of a range, to be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeReplicas {
    /// The range's number.
    pub number: u16,
    /// The number of the configuration.
    pub config: u64,
    /// All replicas.
    pub replicas: Vec<RangeReplica>,
}

impl RangeRecord {
    /// Where those of a new keyspace are placed: on the members that hold the fewest, so that each node holds one
    /// replica of a range at most.
    ///
    /// # Errors
    /// `TooFewForRange` where there are too few members that stay.
    pub fn choose(
        now: &Topology,
        name: &str,
        settings: &KeyspaceSettings,
    ) -> Result<Vec<RangeRecord>, MetadataError> {
        let mut held: BTreeMap<(u16, u16), usize> = BTreeMap::new();
        for replica in all(now).flat_map(|(_, range)| &range.replicas) {
            *held.entry((replica.node, replica.shard)).or_default() += 1;
        }
        let starts = std::iter::once(String::new()).chain(settings.split_at.iter().cloned());
        starts
            .zip(0..)
            .map(|(start, number)| {
                let target = choose_places(now, name, settings.replicas, &mut held)?;
                let replicas = target.iter().zip(1..).map(|(place, id)| RangeReplica {
                    id,
                    node: place.node,
                    shard: place.shard,
                    directory: None,
                });
                Ok(RangeRecord {
                    number,
                    start,
                    config: 1,
                    replicas: replicas.collect(),
                    target,
                    ready: false,
                })
            })
            .collect()
    }

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
            published.replicas = now.replicas.clone();
        }
        published
    }

    /// This beside what else is known of it: configuration, numbers and readiness only grow.
    pub(crate) fn merged(&self, known: &RangeRecord) -> RangeRecord {
        let mut merged = self.clone();
        if known.config > self.config {
            merged.config = known.config;
            merged.replicas = known.replicas.clone();
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
        merged.ready |= known.ready;
        merged
    }
}

impl RangeReplica {
    fn is_place_of(&self, other: &RangeReplica) -> bool {
        (self.id, self.node, self.shard) == (other.id, other.node, other.shard)
    }
}

/// Chooses where the replicas of one range are to be, and notes it in `held`.
fn choose_places(
    now: &Topology,
    name: &str,
    count: u8,
    held: &mut BTreeMap<(u16, u16), usize>,
) -> Result<Vec<RangePlace>, MetadataError> {
    let stays = |id: &u16| {
        let change = now.members.change.as_ref();
        change.is_none_or(|c| c.to.contains(id) && !c.dead.contains(id))
    };
    let members = now.members.ids.iter().filter(|id| stays(id));
    let nodes = members.filter_map(|id| now.node(*id).filter(|node| node.shards > 0));
    let mut places: Vec<(usize, u16, u16)> = nodes
        .filter_map(|node| {
            let of = |shard| held.get(&(node.id, shard)).copied().unwrap_or(0);
            let all = (0..node.shards).map(of).sum();
            let shard = (0..node.shards).min_by_key(|shard| of(*shard))?;
            Some((all, node.id, shard))
        })
        .collect();
    places.sort_unstable();
    if places.len() < usize::from(count) {
        return Err(MetadataError::TooFewForRange {
            keyspace: name.to_owned(),
            replicas: count,
            nodes: places.len(),
        });
    }
    places.truncate(count.into());
    let mut chosen = Vec::with_capacity(places.len());
    for (_, node, shard) in places {
        *held.entry((node, shard)).or_default() += 1;
        chosen.push(RangePlace { node, shard });
    }
    chosen.sort_unstable();
    Ok(chosen)
}

/// The ranges whose data there is, with their keyspaces.
fn all(now: &Topology) -> impl Iterator<Item = (&Keyspace, &RangeRecord)> {
    let dropped = now.dropped.iter().filter(|dropped| !dropped.purged);
    let dropped = dropped.map(|dropped| &dropped.keyspace);
    let keyspaces = now.keyspaces.iter().chain(dropped);
    keyspaces.flat_map(|keyspace| keyspace.ranges.iter().map(move |range| (keyspace, range)))
}

/// Refuses members without a node that holds a range: ranges do not move yet.
pub(crate) fn check_stays(now: &Topology, to: &[u16]) -> Result<(), MetadataError> {
    let is_own = |of: &(&Keyspace, &RangeRecord)| of.0.name.starts_with('_');
    let of_users = all(now).filter(|of| !is_own(of));
    for (keyspace, range) in of_users.chain(all(now).filter(is_own)) {
        let mut nodes = range.replicas.iter().map(|replica| replica.node);
        if let Some(node) = nodes.find(|node| !to.contains(node)) {
            let name = now.node(node).map(|record| record.name.clone());
            return Err(MetadataError::HoldsRange {
                node: name.unwrap_or_else(|| node.to_string()),
                keyspace: keyspace.name.clone(),
            });
        }
    }
    Ok(())
}

impl Keyspace {
    /// Which of its ranges has a key.
    pub fn range_of(&self, key: &[u8]) -> usize {
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
