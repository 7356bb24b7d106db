//! Which replica serves which partitions of a stream. Pure; the table of cases is in its tests.

use std::collections::BTreeMap;

use dunlin_proto::ShardAddress;

/// Gives each partition to one of its replicas: to this shard where it is one, else to another of this node,
/// else to the best that can be asked. Partitions of which none can be are in no list.
pub fn assign(
    partitions: &[u16],
    own: ShardAddress,
    replicas: impl Fn(u16) -> Vec<ShardAddress>,
    can_serve: impl Fn(ShardAddress) -> bool,
) -> BTreeMap<ShardAddress, Vec<u16>> {
    let mut assigned: BTreeMap<ShardAddress, Vec<u16>> = BTreeMap::new();
    for partition in partitions {
        let replicas = replicas(*partition);
        let mut able = replicas.into_iter().filter(|shard| can_serve(*shard));
        let distance = |shard: &ShardAddress| match shard {
            shard if *shard == own => 0,
            shard if shard.node == own.node => 1,
            _ => 2,
        };
        let Some(first) = able.next() else { continue };
        let best = able.fold(first, |best, shard| {
            if distance(&shard) < distance(&best) {
                shard
            } else {
                best
            }
        });
        assigned.entry(best).or_default().push(*partition);
    }
    assigned
}

/// Partitions of which one gets no further, in two: those that are to be followed apart with it, which are all that
/// lack a majority as well, and the others. Where all lack one, it goes alone.
pub(crate) fn set_apart(
    partitions: &[u16],
    stands: u16,
    lacks: impl Fn(u16) -> bool,
) -> (Vec<u16>, Vec<u16>) {
    let split = |is_apart: &dyn Fn(u16) -> bool| -> (Vec<u16>, Vec<u16>) {
        partitions
            .iter()
            .partition(|partition| is_apart(**partition))
    };
    let (apart, others) = split(&|partition| partition == stands || lacks(partition));
    if others.is_empty() {
        split(&|partition| partition == stands)
    } else {
        (apart, others)
    }
}

#[cfg(test)]
#[path = "assign_tests.rs"]
mod tests;
