//! Which partitions of a load are taken over. Pure (decision 45).

use std::collections::{BTreeMap, BTreeSet};

use dunlin_proto::ShardAddress;

/// Replicas that have written a load into files, and the partitions in whose way they found something.
pub(super) type Prepared = BTreeMap<ShardAddress, BTreeSet<u16>>;

/// Of the partitions with their replicas those that enough have in files, `me` among them, and none found
/// something in the way of.
pub(super) fn to_take<'a>(
    parts: impl IntoIterator<Item = (u16, &'a [ShardAddress])>,
    prepared: &Prepared,
    me: ShardAddress,
    ack: u8,
) -> BTreeSet<u16> {
    let is_free = |partition: u16| !prepared.values().any(|there| there.contains(&partition));
    let enough = |replicas: &[ShardAddress]| {
        let ready = replicas.iter().filter(|r| prepared.contains_key(r));
        prepared.contains_key(&me) && ready.count() >= usize::from(ack)
    };
    let taken = parts
        .into_iter()
        .filter(|(partition, replicas)| is_free(*partition) && enough(replicas));
    taken.map(|(partition, _)| partition).collect()
}

/// The least number of replicas that count for any of the partitions taken.
pub(super) fn acknowledged<'a>(
    taken: impl IntoIterator<Item = &'a [ShardAddress]>,
    counts: &BTreeSet<ShardAddress>,
) -> Option<u8> {
    let got = taken
        .into_iter()
        .map(|replicas| replicas.iter().filter(|r| counts.contains(r)).count() as u8);
    got.min()
}

#[cfg(test)]
#[path = "load_take_tests.rs"]
mod tests;
