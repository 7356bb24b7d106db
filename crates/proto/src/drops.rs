//! What there is to tell of keyspaces that are dropped, or were taken back; decision 21 says why.

use std::collections::BTreeMap;

/// What orders the topologies of a cluster: how often its store was put back, and the revision.
pub type Order = (u64, u64);

/// Where a keyspace is in its life. The greater of two is the later one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fate {
    /// How often a drop of it was taken back.
    pub undrops: u32,
    /// Whether it is dropped, purged or not.
    pub is_dropped: bool,
}

/// The fate of each keyspace by its number; of those that are not named, the one they begin with.
pub type Fates = BTreeMap<u32, Fate>;

/// What a node says that its topology has of drops.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Word {
    /// Of its topology.
    pub order: Order,
    /// What there is in it.
    pub fates: Fates,
}
