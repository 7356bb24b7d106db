//! Everything the local store holds, and how it changes: decisions without I/O.
use crate::error::MetadataError;
use crate::keyspace::{Keyspace, KeyspaceSettings, check_keyspace};
use crate::members::{self, Decision, Members};
use crate::node::{NodeRecord, Registration};
use crate::topology::Topology;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The content of `metadata.json`; the same objects as under etcd's keys.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Document {
    revision: u64,
    counters: Counters,
    nodes: BTreeMap<String, NodeRecord>,
    keyspaces: BTreeMap<String, Keyspace>,
    #[serde(default)]
    members: Members,
}

/// The last number given out of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Counters {
    node: u16,
    keyspace: u32,
}

/// The number after `last`.
pub(crate) fn next_node_id(last: u16) -> Result<u16, MetadataError> {
    last.checked_add(1)
        .ok_or(MetadataError::Exhausted { what: "node id" })
}

/// The number after `last`.
pub(crate) fn next_keyspace_id(last: u32) -> Result<u32, MetadataError> {
    last.checked_add(1).ok_or(MetadataError::Exhausted {
        what: "keyspace id",
    })
}

impl Document {
    /// What readers see of it.
    pub fn topology(&self) -> Topology {
        Topology::new(
            self.revision,
            self.nodes.values().cloned(),
            self.keyspaces.values().cloned(),
            self.members.clone(),
        )
    }

    /// A new incarnation of a node; a name not seen before gets an id, and
    /// is a member if one is wanted.
    pub fn register(&mut self, node: Registration<'_>) -> Result<NodeRecord, MetadataError> {
        node.check()?;
        let last = self.nodes.get(node.name);
        let id = match last {
            Some(last) => last.id,
            None => next_node_id(self.counters.node)?,
        };
        let record = node.record(id, last)?;
        if last.is_none() {
            self.members = members::join(&self.topology(), id);
        }
        self.counters.node = self.counters.node.max(id);
        self.nodes.insert(record.name.clone(), record.clone());
        self.revision += 1;
        Ok(record)
    }

    /// A change of the members, or of what depends on who is one.
    pub fn change_members<T>(
        &mut self,
        decide: impl Fn(&Topology) -> Result<Decision<T>, MetadataError>,
    ) -> Result<T, MetadataError> {
        let now = self.topology();
        let decision = decide(&now)?;
        if decision.changes(&now) {
            for name in &decision.forgotten {
                self.nodes.remove(name);
            }
            self.members = decision.members;
            self.revision += 1;
        }
        Ok(decision.value)
    }

    /// A new keyspace, if none has its name.
    pub fn create_keyspace(
        &mut self,
        name: &str,
        settings: KeyspaceSettings,
    ) -> Result<Keyspace, MetadataError> {
        check_keyspace(name, &settings)?;
        if self.keyspaces.contains_key(name) {
            return Err(MetadataError::Exists {
                name: name.to_owned(),
            });
        }
        let id = next_keyspace_id(self.counters.keyspace)?;
        let keyspace = Keyspace {
            id,
            name: name.to_owned(),
            settings,
        };
        self.counters.keyspace = id;
        self.keyspaces.insert(name.to_owned(), keyspace.clone());
        self.revision += 1;
        Ok(keyspace)
    }

    /// The keyspace of this name.
    pub fn keyspace(&self, name: &str) -> Option<&Keyspace> {
        self.keyspaces.get(name)
    }

    /// Forgets a keyspace; its id stays used.
    pub fn drop_keyspace(&mut self, name: &str) -> Result<(), MetadataError> {
        if self.keyspaces.remove(name).is_none() {
            return Err(MetadataError::NotFound {
                name: name.to_owned(),
            });
        }
        self.revision += 1;
        Ok(())
    }
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
