//! The keys and values in etcd.
use crate::error::MetadataError;
use crate::keyspace::Keyspace;
use crate::members::Members;
use crate::node::NodeRecord;
use crate::topology::Topology;
use etcd_client::{EventType, KeyValue};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// What all keys begin with.
pub(crate) const PREFIX: &str = "/dunlin/v1/";
const NODES: &str = "/dunlin/v1/nodes/";
const KEYSPACES: &str = "/dunlin/v1/keyspaces/";
/// Which nodes hold data.
pub(crate) const MEMBERS: &str = "/dunlin/v1/members";
/// The last node id given out.
pub(crate) const NODE_COUNTER: &str = "/dunlin/v1/counters/node";
/// The last keyspace id given out.
pub(crate) const KEYSPACE_COUNTER: &str = "/dunlin/v1/counters/keyspace";

pub(crate) fn node_key(name: &str) -> String {
    format!("{NODES}{name}")
}

pub(crate) fn keyspace_key(name: &str) -> String {
    format!("{KEYSPACES}{name}")
}

/// The value for a record or a counter.
pub(crate) fn encode(value: &impl Serialize) -> Result<Vec<u8>, MetadataError> {
    serde_json::to_vec(value).map_err(|error| MetadataError::Damaged {
        place: "memory".to_owned(),
        detail: error.to_string(),
    })
}

/// A record or a counter from its key and value.
pub(crate) fn decode<T: DeserializeOwned>(pair: &KeyValue) -> Result<T, MetadataError> {
    serde_json::from_slice(pair.value()).map_err(|error| MetadataError::Damaged {
        place: format!("etcd key {}", String::from_utf8_lossy(pair.key())),
        detail: error.to_string(),
    })
}

/// The records under the prefix, as a snapshot and then events bring them.
#[derive(Default)]
pub(crate) struct Records {
    nodes: BTreeMap<String, NodeRecord>,
    keyspaces: BTreeMap<String, Keyspace>,
    members: Members,
}

impl Records {
    /// The records among `pairs`. Bad members are an error, unlike other bad records: without
    /// them all nodes would count as members, and data would be placed by a guess.
    pub fn of(pairs: &[KeyValue]) -> Result<Self, MetadataError> {
        let mut records = Self::default();
        for pair in pairs {
            if pair.key() == MEMBERS.as_bytes() {
                records.members = decode(pair)?;
            } else {
                records.apply(EventType::Put, pair);
            }
        }
        Ok(records)
    }

    /// Takes one change. A record that cannot be read is logged and left as it was: one bad
    /// record must not blind a node to all others.
    pub fn apply(&mut self, event: EventType, pair: &KeyValue) {
        let Ok(key) = pair.key_str() else { return };
        let applied = if let Some(name) = key.strip_prefix(NODES) {
            change(&mut self.nodes, name, event, pair)
        } else if let Some(name) = key.strip_prefix(KEYSPACES) {
            change(&mut self.keyspaces, name, event, pair)
        } else if key == MEMBERS {
            self.change_members(event, pair)
        } else {
            Ok(())
        };
        if let Err(error) = applied {
            tracing::error!(%error, "a metadata record is ignored");
        }
    }

    fn change_members(&mut self, event: EventType, pair: &KeyValue) -> Result<(), MetadataError> {
        self.members = match event {
            EventType::Put => decode(pair)?,
            EventType::Delete => Members::default(),
        };
        Ok(())
    }

    pub fn topology(&self, revision: u64) -> Topology {
        Topology::new(
            revision,
            self.nodes.values().cloned(),
            self.keyspaces.values().cloned(),
            self.members.clone(),
        )
    }
}

fn change<T: DeserializeOwned>(
    records: &mut BTreeMap<String, T>,
    name: &str,
    event: EventType,
    pair: &KeyValue,
) -> Result<(), MetadataError> {
    match event {
        EventType::Put => records.insert(name.to_owned(), decode(pair)?),
        EventType::Delete => records.remove(name),
    };
    Ok(())
}
