//! The whole of the metadata at one moment.
use crate::keyspace::Keyspace;
use crate::members::Members;
use crate::node::NodeRecord;
use serde::{Deserialize, Serialize};

/// Nodes and keyspaces at one revision.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stored")]
pub struct Topology {
    /// Grows with every change.
    pub revision: u64,
    /// In the order of their ids.
    pub nodes: Vec<NodeRecord>,
    /// In the order of their ids.
    pub keyspaces: Vec<Keyspace>,
    /// Which of the nodes hold data.
    pub members: Members,
}

/// As a cache file has it; one from before there were members lacks them.
#[derive(Deserialize)]
struct Stored {
    revision: u64,
    nodes: Vec<NodeRecord>,
    keyspaces: Vec<Keyspace>,
    #[serde(default)]
    members: Members,
}

impl From<Stored> for Topology {
    fn from(stored: Stored) -> Self {
        Self::new(
            stored.revision,
            stored.nodes,
            stored.keyspaces,
            stored.members,
        )
    }
}

impl Topology {
    /// Puts the parts into their order. Where there are nodes and no members, the metadata is from
    /// before there were members: then all nodes are.
    pub(crate) fn new(
        revision: u64,
        nodes: impl IntoIterator<Item = NodeRecord>,
        keyspaces: impl IntoIterator<Item = Keyspace>,
        mut members: Members,
    ) -> Self {
        let mut nodes: Vec<_> = nodes.into_iter().collect();
        let mut keyspaces: Vec<_> = keyspaces.into_iter().collect();
        nodes.sort_by_key(|node| node.id);
        keyspaces.sort_by_key(|keyspace| keyspace.id);
        if members.ids.is_empty() {
            members.ids = nodes.iter().map(|node| node.id).collect();
        }
        Self {
            revision,
            nodes,
            keyspaces,
            members,
        }
    }

    /// The node with this id.
    pub fn node(&self, id: u16) -> Option<&NodeRecord> {
        let at = self.nodes.binary_search_by_key(&id, |node| node.id).ok()?;
        self.nodes.get(at)
    }

    /// The keyspace with this id.
    pub fn keyspace(&self, id: u32) -> Option<&Keyspace> {
        let at = self
            .keyspaces
            .binary_search_by_key(&id, |keyspace| keyspace.id)
            .ok()?;
        self.keyspaces.get(at)
    }

    /// The keyspace with this name.
    pub fn keyspace_named(&self, name: &str) -> Option<&Keyspace> {
        self.keyspaces.iter().find(|keyspace| keyspace.name == name)
    }
}
