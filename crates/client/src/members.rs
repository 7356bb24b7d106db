//! Which nodes hold data, and the change of that which is under way.

use serde::{Deserialize, Serialize};

/// The nodes by what they are for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Members {
    /// Names of the nodes that hold data.
    pub members: Vec<String>,
    /// Names of the others: they coordinate, and hold nothing.
    pub spare: Vec<String>,
    /// Number of the last change begun; 0 before the first.
    pub changes: u64,
    /// The change under way.
    pub change: Option<Change>,
    /// What a newer server says beyond this.
    #[serde(flatten)]
    pub more: serde_json::Map<String, serde_json::Value>,
}

/// A change of the members under way.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Change {
    /// Greater with every change.
    pub id: u64,
    /// `copy`, `joint`, `switch` or `settle`, in this order.
    pub phase: String,
    /// Names of the nodes that will hold data.
    pub adds: Vec<String>,
    /// Names of the nodes that will hold none any more.
    pub takes_out: Vec<String>,
    /// Names of the nodes that are gone for good: nobody waits for them.
    pub dead: Vec<String>,
    /// Shards, `NODE/SHARD`, that the next phase waits for.
    pub waits_for: Vec<String>,
    /// Ranges that it waits for, a line each.
    pub ranges: Vec<String>,
    /// Every shard that answered.
    pub shards: Vec<MoveState>,
    /// What a newer server says beyond this.
    #[serde(flatten)]
    pub more: serde_json::Map<String, serde_json::Value>,
}

/// Where an operator wants the replicas of a range; nodes by their names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum RangeTarget {
    /// The replica on a node is to lead.
    Lead {
        /// Name of the node.
        lead: String,
    },
    /// The replica on one node is to be on another.
    Move {
        /// Name of the first.
        from: String,
        /// Name of the other.
        to: String,
        /// Its shard; any if it is left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        shard: Option<u16>,
        /// Whether it takes the place of a change that is under way.
        instead: bool,
    },
}

/// A shard's part in a change.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MoveState {
    /// `NODE/SHARD`.
    pub shard: String,
    /// The phase it acts by.
    pub phase: Option<String>,
    /// Pieces it takes over: partitions times old replicas.
    pub parts: u64,
    /// Pieces copied.
    pub parts_done: u64,
    /// Records copied since its start.
    pub records: u64,
    /// Bytes of keys and values copied since its start.
    pub bytes: u64,
    /// Bytes a second copied, over the last seconds.
    pub bytes_per_s: u64,
    /// Bytes a second it allows itself to copy.
    pub bytes_per_s_max: u64,
    /// 99th percentile of the latency of clients' requests here, over the last seconds.
    pub latency_us_p99: u64,
    /// What a newer server says beyond this.
    #[serde(flatten)]
    pub more: serde_json::Map<String, serde_json::Value>,
}

/// A change of the members to be begun, by the nodes' names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ChangeMembers {
    /// Nodes that are to hold data.
    pub add: Vec<String>,
    /// Living nodes that are to give theirs away.
    pub drain: Vec<String>,
    /// Nodes that are gone for good.
    pub remove: Vec<String>,
}
