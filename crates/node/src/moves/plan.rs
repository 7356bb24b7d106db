//! Which records a shard takes over from which old replica. Pure.

use std::collections::BTreeMap;

use dunlin_proto::{Froms, Place, ShardAddress};

use crate::placement::Placement;

/// Records of one partition that are to be copied from one old replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub place: Place,
    pub source: ShardAddress,
    pub froms: Froms,
    /// Whether what is written now is among them: copied first, while nothing is in its way.
    pub is_main: bool,
}

/// What `shard` takes over in the change under way, ordinary records first.
pub(super) fn parts(placement: &Placement, shard: ShardAddress) -> Vec<Part> {
    if placement.change.is_none() {
        return Vec::new();
    }
    let mut parts = Vec::new();
    for keyspace in placement.keyspaces() {
        let widths = Widths {
            replicas: keyspace.keyspace.settings.replicas,
            now: keyspace.keyspace.width(),
            is_counted: keyspace.keyspace.is_counted(),
        };
        for partition in 0..keyspace.partition_count() {
            let (old, new) = keyspace.orders(partition);
            let place = Place {
                keyspace: keyspace.keyspace.id,
                partition,
            };
            let is_dead = |node| placement.is_dead(node);
            let taken = takes(old, new, shard, widths, is_dead);
            parts.extend(taken.into_iter().map(|(source, froms)| Part {
                place,
                source,
                froms,
                is_main: froms.has(widths.now),
            }));
        }
    }
    parts.sort_by_key(|part| !part.is_main);
    parts
}

/// By how many replicas a keyspace's records are stored.
#[derive(Debug, Clone, Copy)]
struct Widths {
    /// By so many at least; an old version stored what carries less by fewer.
    replicas: u8,
    /// What is written now.
    now: u8,
    /// Whether no record was ever stored by fewer or by more.
    is_counted: bool,
}

impl Widths {
    /// For each number of replicas that some records are stored by, which those are.
    fn each(self, most: usize) -> impl Iterator<Item = (usize, Froms)> {
        let limit = |width: u8| usize::from(width).clamp(1, most.max(1));
        let replicas = limit(self.replicas);
        let (least, most) = if self.is_counted {
            (replicas, limit(self.now).max(replicas))
        } else {
            (1, most.max(1))
        };
        (least..=most).map(move |from| {
            let below = if from == replicas {
                Froms::up_to(from as u8).0
            } else {
                0
            };
            let own = if from == most {
                Froms::and_above(from as u8)
            } else {
                Froms::of(from as u8)
            };
            (from, Froms(own.0 | below))
        })
    }
}

/// What `shard` takes over of one partition.
///
/// For each number of replicas that records are stored by, the newcomers among so many take the
/// places of those that leave, one each, and inherit all they hold: then whatever some old replicas
/// acknowledged, as many new ones have. A newcomer for a dead replica, or for none, takes what all
/// living ones hold. Who leaves without a newcomer is inherited by one that stays.
///
/// A write may have asked for fewer acknowledgements, of the first few. Those who stay have all of
/// it anyway before anybody reads them (`Shard::is_level_with_writers`), as have the ones that are
/// inherited.
fn takes(
    old: &[ShardAddress],
    new: &[ShardAddress],
    shard: ShardAddress,
    widths: Widths,
    is_dead: impl Fn(u16) -> bool,
) -> BTreeMap<ShardAddress, Froms> {
    let mut taken: BTreeMap<ShardAddress, Froms> = BTreeMap::new();
    let most = old.len().max(new.len()).min(64);
    for (from, froms) in widths.each(most) {
        let before = &old[..old.len().min(from)];
        let after = &new[..new.len().min(from)];
        let newcomers: Vec<_> = after.iter().filter(|r| !before.contains(r)).collect();
        let leavers: Vec<_> = before.iter().filter(|r| !after.contains(r)).collect();
        let mut take = |source: ShardAddress| {
            if source != shard && !is_dead(source.node) {
                taken.entry(source).or_default().0 |= froms.0;
            }
        };
        if let Some(at) = newcomers.iter().position(|r| **r == shard) {
            match leavers.get(at) {
                Some(leaver) if !is_dead(leaver.node) => take(**leaver),
                _ => before.iter().for_each(|source| take(*source)),
            }
        }
        for (at, leaver) in leavers.iter().enumerate().skip(newcomers.len()) {
            if !after.is_empty() && after[at % after.len()] == shard {
                take(**leaver);
            }
        }
    }
    taken
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
