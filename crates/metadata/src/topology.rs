//! The whole of the metadata at one moment.
use crate::access::Access;
use crate::cluster::Cluster;
use crate::dropped::Dropped;
use crate::keyspace::Keyspace;
use crate::members::Members;
use crate::node::NodeRecord;
use serde::{Deserialize, Serialize};

/// The greatest number given out of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Of nodes.
    pub node: u16,
    /// Of keyspaces.
    pub keyspace: u32,
}

/// Nodes and keyspaces at one revision.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stored")]
pub struct Topology {
    /// Which cluster's; none while its store is from a version without ids.
    pub cluster: Option<Cluster>,
    /// Grows with every change, until the store is put back: see [`Topology::order`].
    pub revision: u64,
    /// In the order of their ids.
    pub nodes: Vec<NodeRecord>,
    /// In the order of their ids.
    pub keyspaces: Vec<Keyspace>,
    /// Which of the nodes hold data.
    pub members: Members,
    /// Keyspaces that were dropped, in the order of their ids.
    pub dropped: Vec<Dropped>,
    /// No number was given out that is greater.
    pub counters: Counters,
    /// Who may use the cluster.
    #[serde(skip_serializing_if = "Access::is_unheard_of")]
    pub access: Access,
}

/// As a cache file has it, or a node shows it: then without users.
#[derive(Deserialize)]
struct Stored {
    cluster: Option<Cluster>,
    revision: u64,
    nodes: Vec<NodeRecord>,
    keyspaces: Vec<Keyspace>,
    members: Members,
    dropped: Vec<Dropped>,
    counters: Counters,
    #[serde(default)]
    access: Access,
}

impl From<Stored> for Topology {
    fn from(stored: Stored) -> Self {
        Self {
            cluster: stored.cluster,
            revision: stored.revision,
            nodes: stored.nodes,
            keyspaces: stored.keyspaces,
            members: stored.members,
            dropped: stored.dropped,
            counters: stored.counters,
            access: stored.access,
        }
        .ordered()
    }
}

impl Topology {
    /// Puts the parts into their order. Where there are nodes and no members, the metadata is from
    /// before there were members: then all nodes are.
    pub(crate) fn ordered(mut self) -> Self {
        self.nodes.sort_by_key(|node| node.id);
        self.keyspaces.sort_by_key(|keyspace| keyspace.id);
        self.dropped.sort_by_key(|dropped| dropped.keyspace.id);
        if self.members.ids.is_empty() {
            self.members.ids = self.nodes.iter().map(|node| node.id).collect();
        }
        let counters = &mut self.counters;
        let nodes = self.nodes.iter().map(|node| node.id);
        counters.node = nodes.chain([counters.node]).max().unwrap_or(0);
        let keyspaces = self.keyspaces.iter().map(|keyspace| keyspace.id);
        let dropped = self.dropped.iter().map(|dropped| dropped.keyspace.id);
        counters.keyspace = keyspaces
            .chain(dropped)
            .chain([counters.keyspace])
            .max()
            .unwrap_or(0);
        self
    }

    /// What orders the topologies of a cluster: a store that was put back counts its revisions from
    /// the beginning.
    pub fn order(&self) -> (u64, u64) {
        let restores = self.cluster.as_ref().map_or(0, |cluster| cluster.restores);
        (restores, self.revision)
    }

    /// Whether there is nothing in it at all.
    pub(crate) fn is_blank(&self) -> bool {
        let numbers = Counters::default();
        self.nodes.is_empty() && self.keyspaces.is_empty() && self.counters == numbers
    }

    /// The node with this id.
    pub fn node(&self, id: u16) -> Option<&NodeRecord> {
        let at = self.nodes.binary_search_by_key(&id, |node| node.id).ok()?;
        self.nodes.get(at)
    }

    /// The node with this name.
    pub fn node_named(&self, name: &str) -> Option<&NodeRecord> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// The keyspace with this id.
    pub fn keyspace(&self, id: u32) -> Option<&Keyspace> {
        let at = self
            .keyspaces
            .binary_search_by_key(&id, |keyspace| keyspace.id)
            .ok()?;
        self.keyspaces.get(at)
    }

    /// The keyspace with this name: the newest, should one be kept that is gone from the store.
    pub fn keyspace_named(&self, name: &str) -> Option<&Keyspace> {
        let mut newest_first = self.keyspaces.iter().rev();
        newest_first.find(|keyspace| keyspace.name == name)
    }

    /// The record of the drop of the keyspace with this id.
    pub fn dropped(&self, id: u32) -> Option<&Dropped> {
        self.dropped
            .iter()
            .find(|dropped| dropped.keyspace.id == id)
    }
}
