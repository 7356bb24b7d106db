//! Origin: who first logged an entry.

use std::fmt;

/// The shard, at one start of its node, that first logged an entry.
///
/// The incarnation grows at every start of a node, so an origin never gives out a version
/// twice even when it forgot its clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin(pub u64);

impl Origin {
    /// Packs node number, shard number and incarnation.
    #[inline]
    pub const fn new(node: u16, shard: u16, incarnation: u32) -> Self {
        Self((node as u64) << 48 | (shard as u64) << 32 | incarnation as u64)
    }

    /// The node's number in the cluster.
    #[inline]
    pub const fn node(self) -> u16 {
        (self.0 >> 48) as u16
    }

    /// The shard's number in its node.
    #[inline]
    pub const fn shard(self) -> u16 {
        (self.0 >> 32) as u16
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

/// Sixteen hexadecimal digits.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
