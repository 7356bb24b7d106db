//! The ranges of a transactional keyspace and who holds them, as its record says.
use crate::error::MetadataError;
use crate::keyspace::{Keyspace, KeyspaceSettings, Mode};
use crate::topology::Topology;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A replica of a range. Which node and shard it is never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeReplica {
    /// Id of its node.
    pub node: u16,
    /// The node's shard.
    pub shard: u16,
    /// A random number that the replica gave itself when it was made; none before. One with another number
    /// is not this replica, whatever it says: it is empty, or a copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<u64>,
}

/// A range of a keyspace's keys, and its replicas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeRecord {
    /// Its first key; it ends where the next range begins.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub start: String,
    /// In the order of their nodes.
    pub replicas: Vec<RangeReplica>,
    /// Whether all were made. Nobody votes before. Never taken back.
    pub ready: bool,
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
            .map(|start| {
                let replicas = place(now, name, settings.replicas, &mut held)?;
                Ok(RangeRecord {
                    start,
                    replicas,
                    ready: false,
                })
            })
            .collect()
    }

    /// What becomes of it when a replica was made, or when it is seen that all were.
    pub fn with(&self, made: Option<RangeReplica>) -> RangeRecord {
        let mut with = self.clone();
        for replica in &mut with.replicas {
            let same = made.filter(|made| (made.node, made.shard) == (replica.node, replica.shard));
            replica.directory = replica.directory.or(same.and_then(|made| made.directory));
        }
        with.ready |= with.replicas.iter().all(|r| r.directory.is_some());
        with
    }

    /// This beside what else is known of it: numbers and readiness only grow.
    pub(crate) fn merged(&self, known: &RangeRecord) -> RangeRecord {
        let mut merged = self.clone();
        for replica in &mut merged.replicas {
            let mut others = known.replicas.iter();
            let same =
                others.find(|other| (other.node, other.shard) == (replica.node, replica.shard));
            replica.directory = same.and_then(|other| other.directory).or(replica.directory);
        }
        merged.ready |= known.ready;
        merged
    }
}

/// Places the replicas of one range, and notes them.
fn place(
    now: &Topology,
    name: &str,
    count: u8,
    held: &mut BTreeMap<(u16, u16), usize>,
) -> Result<Vec<RangeReplica>, MetadataError> {
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
    let mut replicas = Vec::with_capacity(places.len());
    for (_, node, shard) in places {
        *held.entry((node, shard)).or_default() += 1;
        replicas.push(RangeReplica {
            node,
            shard,
            directory: None,
        });
    }
    replicas.sort_by_key(|replica| replica.node);
    Ok(replicas)
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
        grown.ranges = match self.ranges.len() == known.ranges.len() {
            true => {
                let both = self.ranges.iter().zip(&known.ranges);
                both.map(|(range, known)| range.merged(known)).collect()
            }
            false if self.ranges.is_empty() => known.ranges.clone(),
            false => self.ranges.clone(),
        };
        grown
    }
}

#[cfg(test)]
#[path = "range_tests.rs"]
mod tests;
