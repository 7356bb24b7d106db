//! What the cluster says about itself: nodes, keyspaces, and who follows whose log.

use dunlin_proto::api::{
    BackfillStatus, FollowerStatus, PinStatus, RangeStatus, RecoveryStatus, StreamStatus,
    ViewStatus,
};
use serde::{Deserialize, Serialize};

use crate::description::KeyspaceDescription;
use crate::members::Members;

/// The whole cluster as seen by one node that asked the others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// The node that answered.
    pub node: String,
    /// What is wrong with the cluster's metadata, a line each.
    pub problems: Vec<String>,
    /// Grows with every change of nodes or keyspaces.
    pub topology_revision: u64,
    /// Which of the nodes hold data.
    pub members: Members,
    /// All known nodes.
    pub nodes: Vec<NodeStatus>,
    /// All keyspaces.
    pub keyspaces: Vec<KeyspaceDescription>,
    /// Every shard that answered.
    pub shards: Vec<ShardStatus>,
    /// One for each shard that follows the log of another.
    pub followers: Vec<FollowerStatus>,
    /// Streams of changes that clients follow.
    pub streams: Vec<StreamStatus>,
    /// Views, at each shard that holds a part of them.
    pub views: Vec<ViewStatus>,
    /// Replicas of transactional keyspaces.
    pub ranges: Vec<RangeStatus>,
    /// What a newer server says beyond this.
    #[serde(flatten)]
    pub more: serde_json::Map<String, serde_json::Value>,
}

/// One node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeStatus {
    /// Its name.
    pub name: String,
    /// Its number in origins.
    pub id: u32,
    /// Where it serves HTTP.
    pub http: String,
    /// Where other nodes reach it.
    pub listen: String,
    /// How many shards it has.
    pub shards: u32,
    /// Whether the node that gathered the status could reach it.
    pub alive: bool,
    /// How often it was started.
    pub incarnation: u64,
    /// What a newer server says beyond this.
    #[serde(flatten)]
    pub more: serde_json::Map<String, serde_json::Value>,
}

/// One event loop of a node, with its log and its store.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ShardStatus {
    /// `NODE/SHARD`.
    pub shard: String,
    /// Why it takes no writes, if it takes none.
    pub trouble: Option<String>,
    /// Whether it lost its data or is new, and answers no reads before the others have filled it.
    pub refilling: bool,
    /// Why, and who has not given all yet.
    pub refill: Option<RecoveryStatus>,
    /// Whether it lacks much of what others have, and gets it.
    pub catching_up: bool,
    /// How far it is behind the shard of which it lacks most, in milliseconds.
    pub behind_ms: u64,
    /// What it copies from others because their logs no longer reach back to where it is.
    pub backfilling: Vec<BackfillStatus>,
    /// Whether writes wait, for a replica that is about to fall off its log.
    pub slows: bool,
    /// Partitions of all keyspaces it holds a replica of.
    pub partitions: u64,
    /// Other shards with which it does not share a secret, each with what to do about it.
    pub distrusts: Vec<String>,
    /// What of its log is kept beyond what is kept anyway, and for whom.
    pub pins: Vec<PinStatus>,
    /// Times that one of these was let go because it held more than it may.
    pub pins_cut: u64,
    /// Keys in its store, counted while they are few. Else its records, estimated: with those that
    /// were deleted, and those that were overwritten and not compacted away yet.
    pub keys: u64,
    /// Whether they were estimated.
    pub keys_estimated: bool,
    /// Bytes in its store's files.
    pub store_bytes: u64,
    /// Writes that entered the cluster here since its start.
    pub writes: u64,
    /// Reads coordinated here since its start.
    pub reads: u64,
    /// Syncs of its log since its start.
    pub log_syncs: u64,
    /// What a newer server says beyond this.
    #[serde(flatten)]
    pub more: serde_json::Map<String, serde_json::Value>,
}
