//! Which cluster a store, a cache and a data directory are of.
use crate::error::MetadataError;
use crate::topology::Topology;
use serde::{Deserialize, Serialize};

/// Digits of a cluster's id.
const ID_DIGITS: usize = 32;

/// A cluster, and how often its metadata store has been put back.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cluster {
    /// 32 hexadecimal digits, chosen once.
    pub id: String,
    /// How often `dunlin metadata restore` has put its store back.
    pub restores: u64,
    /// Whether it has users, and is closed to others: kept apart from them, so that nobody takes
    /// their absence for freedom.
    #[serde(default, skip_serializing_if = "is_false")]
    pub closed: bool,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Cluster {
    /// A cluster that has just begun.
    pub fn new(id: u128) -> Self {
        Self {
            id: format!("{id:032x}"),
            restores: 0,
            closed: false,
        }
    }

    /// Its id as a number; 0 where it is none.
    pub fn number(&self) -> u128 {
        u128::from_str_radix(&self.id, 16).unwrap_or(0)
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if self.id.len() == ID_DIGITS && self.id.bytes().all(is_digit) {
            return Ok(());
        }
        Err(format!(
            "id {:?} is not {ID_DIGITS} hexadecimal digits",
            self.id
        ))
    }
}

/// What a node's data directory says of where it belongs.
#[derive(Debug, Clone, Copy)]
pub struct Directory<'a> {
    /// The node's name.
    pub name: &'a str,
    /// The node's number; 0 while it has no data.
    pub id: u16,
    /// The cluster's id; none while it has no data, or has it from a version without ids.
    pub cluster: Option<&'a str>,
}

/// What becomes of a directory at a store.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// It belongs to the store's cluster.
    Belongs(Cluster),
    /// It belongs to the store, which gets its id now.
    Begins,
    /// It belongs to the store, whose cluster is to get its id from a node that it knows.
    Waits,
}

/// Whether a directory belongs to a store that has been accepted, and whether the store gets its
/// cluster's id from it.
pub(crate) fn claim(directory: Directory<'_>, now: &Topology) -> Result<Claim, MetadataError> {
    let named = now.node_named(directory.name);
    let foreign = || MetadataError::Foreign {
        name: directory.name.to_owned(),
        id: directory.id,
    };
    let is_known = named.is_some_and(|node| node.id == directory.id);
    if let Some(id) = directory.cluster {
        return match &now.cluster {
            Some(cluster) if cluster.id == id && (is_known || directory.id == 0) => {
                Ok(Claim::Belongs(cluster.clone()))
            }
            Some(cluster) if cluster.id == id => Err(foreign()),
            Some(cluster) => Err(MetadataError::OtherCluster {
                found: cluster.id.clone(),
                known: id.to_owned(),
            }),
            None => Err(MetadataError::NoCluster {
                known: id.to_owned(),
            }),
        };
    }
    if directory.id != 0 && !is_known {
        return Err(foreign());
    }
    match &now.cluster {
        Some(cluster) => Ok(Claim::Belongs(cluster.clone())),
        None if named.is_some() || now.is_blank() => Ok(Claim::Begins),
        None => Ok(Claim::Waits),
    }
}

#[cfg(test)]
#[path = "cluster_tests.rs"]
mod tests;
