//! Who holds what: key -> partition -> ordered replicas. Pure; computed once per topology.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use dunlin_metadata::{Keyspace, NodeRecord, Topology};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// One event loop of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardAddress {
    /// Number of the node, from the metadata store.
    pub node: u16,
    /// Number of the shard in the node, from 0.
    pub shard: u16,
}

impl fmt::Display for ShardAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.node, self.shard)
    }
}

/// A keyspace and where its partitions live.
#[derive(Debug)]
pub struct KeyspacePlacement {
    /// The keyspace as the metadata store has it.
    pub keyspace: Keyspace,
    /// For each partition every node's shard for it, best first: the first
    /// `from` of them hold an entry written with that `from`.
    partitions: Vec<Box<[ShardAddress]>>,
}

impl KeyspacePlacement {
    /// The partition a key belongs to.
    pub fn partition_of(&self, key: &[u8]) -> u16 {
        (xxh3_64(key) % self.partitions.len() as u64) as u16
    }

    /// All nodes' shards for a partition, best first; empty when the partition does not exist.
    pub fn order(&self, partition: u16) -> &[ShardAddress] {
        self.partitions
            .get(partition as usize)
            .map_or(&[], |list| &list[..])
    }

    /// The shards that hold an entry of `partition` written with `from`.
    pub fn replicas(&self, partition: u16, from: u8) -> &[ShardAddress] {
        let order = self.order(partition);
        &order[..order.len().min(from as usize)]
    }

    /// Whether `shard` holds entries of `partition` written with `from`.
    pub fn holds(&self, shard: ShardAddress, partition: u16, from: u8) -> bool {
        self.replicas(partition, from).contains(&shard)
    }

    /// Number of partitions.
    pub fn partition_count(&self) -> u16 {
        self.partitions.len() as u16
    }
}

/// Where everything lives under one topology.
#[derive(Debug, Default)]
pub struct Placement {
    /// Revision of the topology this was computed from.
    pub revision: u64,
    /// The cluster's nodes by number.
    pub nodes: BTreeMap<u16, NodeRecord>,
    keyspaces: BTreeMap<u32, KeyspacePlacement>,
    names: HashMap<String, u32>,
    newest_keyspace: u32,
}

impl Placement {
    /// Computes the placement of every partition of every keyspace.
    pub fn compute(topology: &Topology) -> Placement {
        let keyspaces: BTreeMap<u32, KeyspacePlacement> = topology
            .keyspaces
            .iter()
            .map(|keyspace| (keyspace.id, place(keyspace, &topology.nodes)))
            .collect();
        Placement {
            revision: topology.revision,
            nodes: topology.nodes.iter().map(|n| (n.id, n.clone())).collect(),
            names: topology
                .keyspaces
                .iter()
                .map(|k| (k.name.clone(), k.id))
                .collect(),
            newest_keyspace: topology.keyspaces.iter().map(|k| k.id).max().unwrap_or(0),
            keyspaces,
        }
    }

    /// A keyspace by its number.
    pub fn keyspace(&self, id: u32) -> Option<&KeyspacePlacement> {
        self.keyspaces.get(&id)
    }

    /// A keyspace by its name.
    pub fn named(&self, name: &str) -> Option<&KeyspacePlacement> {
        self.names.get(name).and_then(|id| self.keyspaces.get(id))
    }

    /// All keyspaces, by number: a simulation must take the same steps each time.
    pub fn keyspaces(&self) -> impl Iterator<Item = &KeyspacePlacement> {
        self.keyspaces.values()
    }

    /// Whether a keyspace number was in use once and is no more. Numbers are
    /// never used again and grow, so an unknown lower number has been dropped.
    pub fn is_dropped(&self, id: u32) -> bool {
        id < self.newest_keyspace && !self.keyspaces.contains_key(&id)
    }

    /// Every shard of every node.
    pub fn shards(&self) -> impl Iterator<Item = ShardAddress> + '_ {
        self.nodes
            .values()
            .flat_map(|n| (0..n.shards).map(|shard| ShardAddress { node: n.id, shard }))
    }

    /// How many partitions `shard` holds a replica of, as the keyspaces are set.
    pub fn partitions_held(&self, shard: ShardAddress) -> u64 {
        let held = |k: &KeyspacePlacement| {
            let replicas = k.keyspace.settings.replicas;
            (0..k.partition_count())
                .filter(|partition| k.holds(shard, *partition, replicas))
                .count() as u64
        };
        self.keyspaces.values().map(held).sum()
    }

    /// Whether two shards can ever hold copies of the same entry.
    pub fn share(&self, a: ShardAddress, b: ShardAddress) -> bool {
        a.node != b.node
            && self.keyspaces.values().any(|k| {
                k.partitions
                    .iter()
                    .any(|order| order.contains(&a) && order.contains(&b))
            })
    }
}

fn place(keyspace: &Keyspace, nodes: &[NodeRecord]) -> KeyspacePlacement {
    let partitions = (0..keyspace.settings.partitions)
        .map(|partition| rank(keyspace.id, partition, nodes))
        .collect();
    KeyspacePlacement {
        keyspace: keyspace.clone(),
        partitions,
    }
}

/// Rendezvous hashing: every node draws a score for the partition, the highest
/// is first. A node that joins takes partitions, and moves none between others.
fn rank(keyspace: u32, partition: u16, nodes: &[NodeRecord]) -> Box<[ShardAddress]> {
    let mut scored: Vec<(u64, ShardAddress)> = nodes
        .iter()
        .filter(|node| node.shards > 0)
        .map(|node| {
            let best = (0..node.shards)
                .max_by_key(|shard| {
                    score(&[keyspace, partition.into(), node.id.into(), (*shard).into()])
                })
                .unwrap_or(0);
            let address = ShardAddress {
                node: node.id,
                shard: best,
            };
            (
                score(&[keyspace, partition.into(), node.id.into()]),
                address,
            )
        })
        .collect();
    scored.sort_unstable_by(|a, b| b.cmp(a));
    scored.into_iter().map(|(_, address)| address).collect()
}

fn score(parts: &[u32]) -> u64 {
    parts
        .iter()
        .fold(0, |seed, part| xxh3_64_with_seed(&part.to_le_bytes(), seed))
}

#[cfg(test)]
#[path = "placement_tests.rs"]
mod tests;
