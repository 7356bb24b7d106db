//! Who holds what: key -> partition -> ordered replicas. Pure; computed once per topology.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use dunlin_entry::{Kind, Origin, Vector, Version};
use dunlin_metadata::{Change, Keyspace, NodeRecord, Phase, Topology};
use dunlin_proto::{Fate, Fates, ShardAddress, Word};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::replication::address_of;

/// Every member's shard for each partition, best first.
type Orders = Vec<Box<[ShardAddress]>>;

/// A keyspace and where its partitions live.
#[derive(Debug)]
pub struct KeyspacePlacement {
    /// The keyspace as the metadata store has it.
    pub keyspace: Keyspace,
    /// For each partition the members' shards, best first: the first [`KeyspacePlacement::width`]
    /// of them hold an entry. While members change, the ones there were.
    old: Orders,
    /// The same as it shall be.
    new: Option<Orders>,
    phase: Option<Phase>,
}

impl KeyspacePlacement {
    /// The partition a key belongs to.
    pub fn partition_of(&self, key: &[u8]) -> u16 {
        dunlin_proto::partition_of(key, self.partition_count())
    }

    /// All shards that answer for a partition, best first; empty when it does not exist.
    pub fn order(&self, partition: u16) -> &[ShardAddress] {
        match (self.phase, &self.new) {
            (Some(Phase::Switch | Phase::Settle), Some(new)) => at(new, partition),
            _ => at(&self.old, partition),
        }
    }

    /// By how many of a partition's replicas an entry is stored that carries `from`.
    pub fn width(&self, from: u8) -> u8 {
        from.max(self.keyspace.settings.replicas)
    }

    /// What a new entry carries for a write that asks for `from`: so much that it goes to all who
    /// may hold something older of its key. A delete that did not would let a value come back from
    /// there when it is forgotten.
    pub fn width_of_write(&self, kind: Kind, from: u8) -> u8 {
        match kind {
            Kind::Delete if !self.keyspace.is_counted() => u8::MAX,
            _ => from.max(self.keyspace.width()),
        }
    }

    /// The shards whose acknowledgements count, and which are read, for a request of `partition`
    /// with `from`.
    pub fn replicas(&self, partition: u16, from: u8) -> &[ShardAddress] {
        first(self.order(partition), from)
    }

    /// The shards of which enough must acknowledge a write as well, while the replicas change
    /// from one set to another; else none.
    pub fn also(&self, partition: u16, from: u8) -> &[ShardAddress] {
        match (self.phase, &self.new) {
            (Some(Phase::Joint), Some(new)) => first(at(new, partition), from),
            (Some(Phase::Switch), Some(_)) => first(at(&self.old, partition), from),
            _ => &[],
        }
    }

    /// Whether writes of `partition` with `from` may enter through `shard`. One that leaves takes
    /// none any more once others are read, so that all it has ever written can be handed on.
    pub fn enters(&self, shard: ShardAddress, partition: u16, from: u8) -> bool {
        let is_joint = self.phase == Some(Phase::Joint);
        self.replicas(partition, from).contains(&shard)
            || is_joint && self.also(partition, from).contains(&shard)
    }

    /// Whether `shard` is sent entries of `partition` that carry `from`.
    pub fn holds(&self, shard: ShardAddress, partition: u16, from: u8) -> bool {
        let width = self.width(from);
        self.replicas(partition, width).contains(&shard)
            || self.also(partition, width).contains(&shard)
    }

    /// Whether all of `partition` that carries `from` was meant for `shard` when its vector rose over
    /// it, as far as any shard can tell that acts by the phase before or after this one: while members
    /// change not for one that joins, and not to the end for one that leaves.
    pub fn is_kept_by(&self, shard: ShardAddress, partition: u16, from: u8) -> bool {
        let (old, new) = self.orders(partition);
        let is_in = |order| first(order, self.width(from)).contains(&shard);
        let is_left = matches!(self.phase, Some(Phase::Switch | Phase::Settle));
        is_in(old) && (!is_left || is_in(new))
    }

    /// Whether what `shard` stores of `partition` may be shown in a range, to one that acts by the phase
    /// before or after this one. Else it may lie there from before the shard gave the partition away, or,
    /// while it copies, from before it had it last: what was deleted since would be shown.
    pub fn shows(&self, shard: ShardAddress, partition: u16) -> bool {
        let (old, new) = self.orders(partition);
        let is_in = |order| first(order, self.widest()).contains(&shard);
        match self.phase {
            None | Some(Phase::Copy) => is_in(old),
            Some(Phase::Joint | Phase::Switch) => is_in(old) || is_in(new),
            Some(Phase::Settle) => is_in(new),
        }
    }

    /// Whether nobody but `shard` stores anything of `partition`, before the change under way or after
    /// it, whatever `from` a write asked for.
    pub fn is_alone(&self, shard: ShardAddress, partition: u16) -> bool {
        let (old, new) = self.orders(partition);
        let is_all = |order| first(order, self.widest()) == [shard];
        is_all(old) && is_all(new)
    }

    /// By how many of a partition's replicas anything may be stored.
    fn widest(&self) -> u8 {
        if self.keyspace.is_counted() {
            self.keyspace.width()
        } else {
            u8::MAX
        }
    }

    /// Whether `shard` is to hold anything of `partition`, now or after the change under way.
    pub fn concerns(&self, shard: ShardAddress, partition: u16) -> bool {
        let (old, new) = self.orders(partition);
        old.contains(&shard) || new.contains(&shard)
    }

    /// The order there was and the one there shall be; the same twice when no members change.
    pub fn orders(&self, partition: u16) -> (&[ShardAddress], &[ShardAddress]) {
        let old = at(&self.old, partition);
        (old, self.new.as_ref().map_or(old, |new| at(new, partition)))
    }

    /// Whether entries of `partition` are sent to both shards.
    pub fn share(&self, partition: u16, a: ShardAddress, b: ShardAddress) -> bool {
        let (old, new) = self.orders(partition);
        let (first, second) = match self.phase {
            Some(Phase::Joint | Phase::Switch) => (old, new),
            _ => (self.order(partition), &[][..]),
        };
        let has = |shard| first.contains(&shard) || second.contains(&shard);
        has(a) && has(b)
    }

    /// Whether entries of `partition` are sent to both shards now, or may be when the change under way
    /// has ended.
    fn may_share(&self, partition: u16, a: ShardAddress, b: ShardAddress) -> bool {
        self.concerns(a, partition) && self.concerns(b, partition)
    }

    /// Whether `shard` may have written entries of `partition`: of a member the one shard that has it, of a
    /// node that is none any more any.
    pub fn may_write(&self, shard: ShardAddress, partition: u16) -> bool {
        let (old, new) = self.orders(partition);
        let mut of_node = old.iter().chain(new).filter(|of| of.node == shard.node);
        let first = of_node.next();
        first.is_none_or(|of| *of == shard) || of_node.any(|of| *of == shard)
    }

    /// Number of partitions.
    pub fn partition_count(&self) -> u16 {
        self.old.len() as u16
    }
}

fn at(orders: &Orders, partition: u16) -> &[ShardAddress] {
    orders.get(partition as usize).map_or(&[], |list| &list[..])
}

fn first(order: &[ShardAddress], from: u8) -> &[ShardAddress] {
    &order[..order.len().min(from as usize)]
}

/// Where everything lives under one topology.
#[derive(Debug, Default)]
pub struct Placement {
    /// Revision of the topology this was computed from.
    pub revision: u64,
    /// The cluster's nodes by number, spare ones too.
    pub nodes: BTreeMap<u16, NodeRecord>,
    /// Number of the last change of the members begun.
    pub changes: u64,
    /// The change of the members under way.
    pub change: Option<Change>,
    /// Numbers of the nodes that answer for data.
    members: BTreeSet<u16>,
    /// Those, and the ones that did before the change under way or shall after it.
    writers: BTreeSet<u16>,
    /// Those there are, and from joint on those there shall be.
    awaited: BTreeSet<u16>,
    keyspaces: BTreeMap<u32, KeyspacePlacement>,
    /// Those whose replicas stand in their records; nothing else here tells of them.
    transactional: BTreeMap<u32, Arc<Keyspace>>,
    names: HashMap<String, u32>,
    purged: BTreeSet<u32>,
    /// What the topology has of drops, for others to be told.
    pub drops: Word,
}

impl Placement {
    /// Computes the placement of every partition of every keyspace.
    pub fn compute(topology: &Topology) -> Placement {
        let members = &topology.members;
        // One that is dropped has no name any more; all else goes on as it was until it is purged,
        // so that it can be taken back whole.
        let (purged, dropped): (Vec<_>, Vec<_>) =
            topology.dropped.iter().partition(|dropped| dropped.purged);
        let dropped = dropped.iter().map(|dropped| &dropped.keyspace);
        let all = topology.keyspaces.iter().chain(dropped);
        let (transactional, quorum): (Vec<_>, Vec<_>) = all.partition(|k| k.is_transactional());
        let keyspaces: BTreeMap<u32, KeyspacePlacement> = quorum
            .into_iter()
            .map(|keyspace| (keyspace.id, place(keyspace, topology)))
            .collect();
        let transactional = transactional.into_iter();
        let transactional = transactional.map(|k| (k.id, Arc::new(k.clone()))).collect();
        let answering = match &members.change {
            Some(change) if change.phase >= Phase::Switch => &change.to,
            _ => &members.ids,
        };
        Placement {
            revision: topology.revision,
            changes: members.changes,
            change: members.change.clone(),
            members: answering.iter().copied().collect(),
            writers: {
                let to = members.change.iter().flat_map(|change| &change.to);
                members.ids.iter().chain(to).copied().collect()
            },
            awaited: {
                let begun = members.change.iter().filter(|c| c.phase > Phase::Copy);
                let to = begun.flat_map(|change| &change.to);
                members.ids.iter().chain(to).copied().collect()
            },
            nodes: topology.nodes.iter().map(|n| (n.id, n.clone())).collect(),
            names: topology
                .keyspaces
                .iter()
                .map(|k| (k.name.clone(), k.id))
                .collect(),
            purged: purged.iter().map(|dropped| dropped.keyspace.id).collect(),
            drops: Word {
                order: topology.order(),
                fates: fates(topology),
            },
            keyspaces,
            transactional,
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

    /// Those that are transactional, dropped ones too, by number.
    pub fn transactional(&self) -> &BTreeMap<u32, Arc<Keyspace>> {
        &self.transactional
    }

    /// A transactional one by its name.
    pub fn transactional_named(&self, name: &str) -> Option<&Arc<Keyspace>> {
        self.names
            .get(name)
            .and_then(|id| self.transactional.get(id))
    }

    /// Those that are not dropped, by number.
    pub fn in_use(&self) -> impl Iterator<Item = &Keyspace> {
        let all = self.keyspaces.values().map(|placed| &placed.keyspace);
        all.filter(|keyspace| self.names.get(&keyspace.name) == Some(&keyspace.id))
    }

    /// All keyspaces, by number: a simulation must take the same steps each time.
    pub fn keyspaces(&self) -> impl Iterator<Item = &KeyspacePlacement> {
        self.keyspaces.values()
    }

    /// Whether the data of a keyspace goes: by the record of its drop alone, never because it is
    /// not there.
    pub fn is_purged(&self, id: u32) -> bool {
        self.purged.contains(&id)
    }

    /// Numbers of the keyspaces whose data goes, ascending.
    pub fn purged(&self) -> &BTreeSet<u32> {
        &self.purged
    }

    /// By how many replicas entries of each keyspace may be stored, where that is more than its settings
    /// say.
    pub fn widths(&self) -> Vec<(u32, u8)> {
        let widths = self.keyspaces().filter_map(|k| {
            let width = k.keyspace.width();
            (width > k.keyspace.settings.replicas).then_some((k.keyspace.id, width))
        });
        widths.collect()
    }

    /// Every shard of every node.
    pub fn shards(&self) -> impl Iterator<Item = ShardAddress> + '_ {
        self.nodes
            .values()
            .flat_map(|n| (0..n.shards).map(|shard| ShardAddress { node: n.id, shard }))
    }

    /// Whether a node answers for data.
    pub fn is_member(&self, node: u16) -> bool {
        self.members.contains(&node)
    }

    /// Every shard that may stamp a write, now or by a neighbouring phase.
    pub fn writers(&self) -> impl Iterator<Item = ShardAddress> + '_ {
        self.shards()
            .filter(|s| self.writers.contains(&s.node) && !self.is_dead(s.node))
    }

    /// By whom one reads, and who must have what is shown, as a number that grows: a phase in which that is
    /// as it was before has the number of that.
    pub fn step(&self) -> u64 {
        match self.change.as_ref().map(|change| change.phase) {
            Some(Phase::Copy) => self.changes.saturating_sub(1) * 4 + 3,
            Some(Phase::Joint) => self.changes * 4 + 1,
            Some(Phase::Switch) => self.changes * 4 + 2,
            Some(Phase::Settle) | None => self.changes * 4 + 3,
        }
    }

    /// Whether a node has confirmed each phase that was left so far, so that it acts by this one or by a
    /// neighbouring one.
    pub fn is_awaited(&self, node: u16) -> bool {
        self.awaited.contains(&node)
    }

    /// How many nodes answer for data.
    pub fn member_count(&self) -> usize {
        self.members.len()
    }

    /// Whether a node is gone for good: nobody waits for it or heeds it.
    pub fn is_dead(&self, node: u16) -> bool {
        let is_buried = |change: &Change| change.dead.contains(&node);
        !self.nodes.contains_key(&node) || self.change.as_ref().is_some_and(is_buried)
    }

    /// Number of the change whose outcome readers here go by.
    pub fn read_epoch(&self) -> u64 {
        match &self.change {
            Some(change) if change.phase < Phase::Switch => self.changes.saturating_sub(1),
            _ => self.changes,
        }
    }

    /// The oldest such number that the data held here still serves.
    pub fn oldest_epoch(&self) -> u64 {
        match &self.change {
            Some(_) => self.changes.saturating_sub(1),
            None => self.changes,
        }
    }

    /// How many partitions `shard` answers for.
    pub fn partitions_held(&self, shard: ShardAddress) -> u64 {
        let held = |k: &KeyspacePlacement| {
            (0..k.partition_count())
                .filter(|partition| k.replicas(*partition, k.keyspace.width()).contains(&shard))
                .count() as u64
        };
        self.keyspaces.values().map(held).sum()
    }

    /// Whether two shards can be sent copies of the same entry.
    pub fn share(&self, a: ShardAddress, b: ShardAddress) -> bool {
        a.node != b.node
            && self
                .keyspaces
                .values()
                .any(|k| (0..k.partition_count()).any(|partition| k.share(partition, a, b)))
    }

    /// The same, now or when the change under way has ended.
    pub fn may_share(&self, a: ShardAddress, b: ShardAddress) -> bool {
        let may = |k: &KeyspacePlacement| {
            (0..k.partition_count()).any(|partition| k.may_share(partition, a, b))
        };
        a.node != b.node && self.keyspaces.values().any(may)
    }

    /// Whether what `teller`'s vector says of `writer` tells of entries that were sent to it. Of others it
    /// names what came with a refill or a change of members, for good: the writer, which does not hear it,
    /// may have lost some of that since, and then nobody brings it.
    pub fn vouches(&self, teller: ShardAddress, writer: ShardAddress) -> bool {
        teller == writer || self.share(teller, writer)
    }

    /// The greatest version that anybody names of each origin who vouches for it.
    pub fn vouched_for<Named: Iterator<Item = (Origin, Version)>>(
        &self,
        told: impl Iterator<Item = (ShardAddress, Named)>,
    ) -> Vector {
        let mut held = Vector::new();
        for (teller, named) in told {
            for (origin, version) in named {
                if held.get(origin) < version && self.vouches(teller, address_of(origin)) {
                    held.advance(origin, version);
                }
            }
        }
        held
    }

    /// Whether a shard's node holds no data, and is not about to.
    pub fn is_outside(&self, shard: ShardAddress) -> bool {
        !self.writers.contains(&shard.node)
    }
}

/// The fates of the keyspaces that are dropped, or were taken back.
fn fates(topology: &Topology) -> Fates {
    let fate = |keyspace: &Keyspace, is_dropped| {
        let undrops = keyspace.undrops;
        (
            keyspace.id,
            Fate {
                undrops,
                is_dropped,
            },
        )
    };
    let live = topology.keyspaces.iter().filter(|live| live.undrops > 0);
    let dropped = topology.dropped.iter().map(|dropped| &dropped.keyspace);
    live.map(|live| fate(live, false))
        .chain(dropped.map(|dropped| fate(dropped, true)))
        .collect()
}

fn place(keyspace: &Keyspace, topology: &Topology) -> KeyspacePlacement {
    let ranked = |members: &[u16]| {
        let nodes: Vec<&NodeRecord> = topology
            .nodes
            .iter()
            .filter(|node| members.contains(&node.id))
            .collect();
        (0..keyspace.settings.partitions)
            .map(|partition| rank(keyspace.id, partition, &nodes))
            .collect()
    };
    let change = topology.members.change.as_ref();
    KeyspacePlacement {
        keyspace: keyspace.clone(),
        old: ranked(&topology.members.ids),
        new: change.map(|change| ranked(&change.to)),
        phase: change.map(|change| change.phase),
    }
}

/// Rendezvous hashing: every node draws a score for the partition, the highest
/// is first. A node that joins takes partitions, and moves none between others.
fn rank(keyspace: u32, partition: u16, nodes: &[&NodeRecord]) -> Box<[ShardAddress]> {
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
