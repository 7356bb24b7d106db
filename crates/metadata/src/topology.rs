//! The whole of the metadata at one moment.
use crate::keyspace::Keyspace;
use crate::node::NodeRecord;
use serde::{Deserialize, Serialize};

/// Nodes and keyspaces at one revision.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// Grows with every change.
    pub revision: u64,
    /// In the order of their ids.
    pub nodes: Vec<NodeRecord>,
    /// In the order of their ids.
    pub keyspaces: Vec<Keyspace>,
}

impl Topology {
    /// Puts the parts into their order.
    pub(crate) fn new(
        revision: u64,
        nodes: impl IntoIterator<Item = NodeRecord>,
        keyspaces: impl IntoIterator<Item = Keyspace>,
    ) -> Self {
        let mut nodes: Vec<_> = nodes.into_iter().collect();
        let mut keyspaces: Vec<_> = keyspaces.into_iter().collect();
        nodes.sort_by_key(|node| node.id);
        keyspaces.sort_by_key(|keyspace| keyspace.id);
        Self {
            revision,
            nodes,
            keyspaces,
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
