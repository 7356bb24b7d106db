//! Who loads what of a body, and in which bundles. Pure (decision 45).

use dunlin_proto::ShardAddress;

/// Bytes of pairs that go in one message, if a partition has no more.
const BUNDLE_BYTES: usize = 8 << 20;

/// Which shard loads pairs of these replicas: `me` if it can, then one of this node, then the first within reach.
pub(super) fn holder(
    replicas: &[ShardAddress],
    me: ShardAddress,
    is_reachable: impl Fn(ShardAddress) -> bool,
) -> Option<ShardAddress> {
    let near = |r: &&ShardAddress| r.node == me.node && is_reachable(**r);
    let own = replicas.iter().find(|r| **r == me);
    let beside = || replicas.iter().find(near);
    let any = || replicas.iter().find(|r| is_reachable(**r));
    own.or_else(beside).or_else(any).copied()
}

/// Partitions with their bytes, in messages of so many; none is cut in two.
pub(super) fn bundles(parts: impl IntoIterator<Item = (u16, usize)>) -> Vec<Vec<u16>> {
    let mut bundles: Vec<Vec<u16>> = Vec::new();
    let mut room = 0;
    for (partition, bytes) in parts {
        match bundles.last_mut() {
            Some(bundle) if bytes <= room => bundle.push(partition),
            _ => {
                bundles.push(vec![partition]);
                room = BUNDLE_BYTES;
            }
        }
        room = room.saturating_sub(bytes);
    }
    bundles
}

#[cfg(test)]
#[path = "load_holder_tests.rs"]
mod tests;
