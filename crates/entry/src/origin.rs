//! Origin: who first logged an entry.

use std::fmt;

/// The shard, at one start of its node, that first logged an entry, and the cluster of that node.
///
/// The incarnation grows at every start of a node, so an origin never gives out a version
/// twice even when it forgot its clock. Clusters that are linked have different numbers.
///
/// From the highest bit on: cluster 14 bits, node 12, shard 6, incarnation 32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin(pub u64);

impl Origin {
    /// The greatest number of a cluster.
    pub const CLUSTER_MAX: u16 = (1 << 14) - 1;
    /// The greatest number of a node.
    pub const NODE_MAX: u16 = (1 << 12) - 1;
    /// The greatest number of a shard in its node.
    pub const SHARD_MAX: u16 = (1 << 6) - 1;

    /// Packs node number, shard number and incarnation; of the cluster with number 0.
    #[inline]
    pub const fn new(node: u16, shard: u16, incarnation: u32) -> Self {
        debug_assert!(node <= Self::NODE_MAX && shard <= Self::SHARD_MAX);
        Self((node as u64) << 38 | (shard as u64) << 32 | incarnation as u64)
    }

    /// The same in another cluster.
    #[inline]
    pub const fn in_cluster(self, cluster: u16) -> Self {
        debug_assert!(cluster <= Self::CLUSTER_MAX);
        Self(self.0 & !(0x3fff << 50) | (cluster as u64) << 50)
    }

    /// Another shard of the same cluster, at one of its starts.
    #[inline]
    pub const fn of_shard(self, node: u16, shard: u16, incarnation: u32) -> Self {
        Self::new(node, shard, incarnation).in_cluster(self.cluster())
    }

    /// The cluster's number.
    #[inline]
    pub const fn cluster(self) -> u16 {
        (self.0 >> 50) as u16
    }

    /// The node's number in the cluster.
    #[inline]
    pub const fn node(self) -> u16 {
        (self.0 >> 38) as u16 & Self::NODE_MAX
    }

    /// The shard's number in its node.
    #[inline]
    pub const fn shard(self) -> u16 {
        (self.0 >> 32) as u16 & Self::SHARD_MAX
    }

    /// Which start of the node this was.
    #[inline]
    pub const fn incarnation(self) -> u32 {
        (self.0 & 0xffff_ffff) as u32
    }

    /// What stands in vectors for the sealed starts of the same shard: incarnation 0, which no start has.
    #[inline]
    pub const fn seal(self) -> Self {
        Self(self.0 & !0xffff_ffff)
    }

    /// Whether this stands for sealed starts. Its version in a vector is then the number of a start.
    #[inline]
    pub const fn is_seal(self) -> bool {
        self.incarnation() == 0
    }

    /// Another start of the same shard.
    #[inline]
    pub const fn at_start(self, incarnation: u32) -> Self {
        Self(self.seal().0 | incarnation as u64)
    }
}

/// The number of the cluster with this id, as its origins have it: the top bits, so nobody chooses it.
#[inline]
pub const fn cluster_number(id: u128) -> u16 {
    (id >> 114) as u16
}

/// Sixteen hexadecimal digits.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
#[path = "origin_tests.rs"]
mod tests;
