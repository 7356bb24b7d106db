//! The remaining replicas of a range that has lost its majority, and how it begins again.

use serde::{Deserialize, Serialize};

/// The remaining replicas of a range.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RangeRemains {
    /// Replicas on nodes that are not declared dead, and shards that do not answer.
    pub replicas: Vec<LeftReplica>,
    /// Name of the node whose replica has the most, if any has data.
    pub keep: Option<String>,
    /// Why the range cannot be recovered as it is now.
    pub refused: Option<String>,
}

/// A replica that is left of a range.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LeftReplica {
    /// `NODE/SHARD`.
    pub at: String,
    /// `leader`, `voter`, `silent` (it has lost a promise, and never votes again), `empty`, or `no answer`.
    pub state: String,
    /// Its number in the range.
    pub id: u64,
    /// Term of its last entry: of two replicas the one with the greater has more.
    pub term: u64,
    /// Number of its last entry: of two with the same term the one with the greater has more.
    pub last: u64,
    /// Number of the last entry that it has applied.
    pub applied: u64,
    /// The configuration of replicas that it knows.
    pub config: u64,
}

/// How a range begins again: with the replica on a node, or without any data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RecoverRange {
    /// Name of the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep: Option<String>,
    /// Whether it begins without data.
    pub new: bool,
    /// Whether writes may be lost that were acknowledged. Nothing is done without.
    pub accept_data_loss: bool,
}

/// A range that begins again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeBeginning {
    /// The number of the configuration with which it does.
    pub config: u64,
    /// The shard, as `NODE/SHARD`.
    pub at: String,
}

/// How a range was recovered last, as its record says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeRecovered {
    /// The number of the configuration with which it began again.
    pub config: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
}
