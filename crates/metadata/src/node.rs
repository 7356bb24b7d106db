//! A node as the cluster knows it.
use crate::error::MetadataError;
use serde::{Deserialize, Serialize};

/// The longest name of a node or keyspace, in bytes.
pub const NAME_BYTES_MAX: usize = 63;
/// The most shards that a node may have.
pub const SHARDS_OF_NODE_MAX: u16 = 64;
/// The most shards that a cluster may have, all nodes together: each is connected to all others.
pub const SHARDS_MAX: u16 = 256;
/// The longest address, in bytes.
const ADDRESS_BYTES_MAX: usize = 255;

/// One node. Its id stays with its name; its incarnation grows with every registration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRecord {
    /// From 1; never given to another name.
    pub id: u16,
    /// The name that the operator chose.
    pub name: String,
    /// Where it serves HTTP, `host:port`.
    pub http: String,
    /// Where it serves other nodes, `host:port` or `unix:/path`.
    pub listen: String,
    /// How many shards it has.
    pub shards: u16,
    /// From 1; greater at every start, so that entries of different lives never share an origin.
    pub incarnation: u32,
}

/// What a node says of itself when it starts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Registration<'a> {
    pub name: &'a str,
    pub http: &'a str,
    pub listen: &'a str,
    pub shards: u16,
    pub at_least_incarnation: u32,
}

impl Registration<'_> {
    pub fn check(&self) -> Result<(), MetadataError> {
        check_name("node name", self.name)?;
        check_address("http address", self.http)?;
        check_address("listen address", self.listen)?;
        if self.shards == 0 || self.shards > SHARDS_OF_NODE_MAX {
            let rule = format!("must be from 1 to {SHARDS_OF_NODE_MAX}");
            return Err(MetadataError::invalid(
                format!("shards {}", self.shards),
                rule,
            ));
        }
        Ok(())
    }

    /// The record that follows `last` (this name's record, or `None` when it is new).
    pub fn record(&self, id: u16, last: Option<&NodeRecord>) -> Result<NodeRecord, MetadataError> {
        let next = last
            .map_or(0, |node| node.incarnation)
            .checked_add(1)
            .ok_or(MetadataError::Exhausted {
                what: "incarnation",
            })?;
        Ok(NodeRecord {
            id,
            name: self.name.to_owned(),
            http: self.http.to_owned(),
            listen: self.listen.to_owned(),
            shards: self.shards,
            incarnation: next.max(self.at_least_incarnation),
        })
    }
}

/// Checks a name: 1 to 63 letters, digits, dots, underscores and hyphens. `what` says in the
/// error whose name it is.
pub fn check_name(what: &str, name: &str) -> Result<(), MetadataError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(allowed) {
        return Ok(());
    }
    let rule = format!("must be 1 to {NAME_BYTES_MAX} of A-Z a-z 0-9 . _ -");
    Err(MetadataError::invalid(format!("{what} {name:?}"), rule))
}

fn check_address(what: &str, address: &str) -> Result<(), MetadataError> {
    if (1..=ADDRESS_BYTES_MAX).contains(&address.len()) && !address.contains(char::is_control) {
        return Ok(());
    }
    let rule = format!("must be 1 to {ADDRESS_BYTES_MAX} bytes without control characters");
    Err(MetadataError::invalid(format!("{what} {address:?}"), rule))
}
