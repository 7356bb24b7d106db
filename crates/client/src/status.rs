//! What the cluster says about itself: nodes, keyspaces, and who follows whose log.

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
    /// One for each shard that follows the log of another; servers before called them links.
    #[serde(alias = "links")]
    pub followers: Vec<Follower>,
    /// Streams of changes that clients follow.
    #[serde(default)]
    pub streams: Vec<ChangeStream>,
    /// Replicas of transactional keyspaces.
    #[serde(default)]
    pub ranges: Vec<RangeReplica>,
    /// What a newer server says beyond this.
    #[serde(flatten)]
    pub more: serde_json::Map<String, serde_json::Value>,
}

/// A replica of a transactional keyspace's range of keys.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RangeReplica {
    /// The shard that holds it, `NODE/SHARD`.
    pub at: String,
    /// Of which keyspace.
    pub keyspace: String,
    /// Which of its ranges, from 0.
    pub range: u64,
    /// `leader`, `follower`, `candidate`, `preparing`, `mute` or `failed`.
    pub role: String,
    /// Why, where it is mute or failed.
    pub reason: Option<String>,
    /// The shard that leads, as far as is known there.
    pub leader: Option<String>,
    /// Its term.
    pub term: u64,
    /// Index of the last entry of its log.
    pub last: u64,
    /// Index of the last entry that it knows a majority to have.
    pub committed: u64,
    /// Index of the last entry that it has applied.
    pub applied: u64,
    /// Entries that the replica furthest behind lacks, as its leader knows; 0 elsewhere.
    pub behind: u64,
    /// How often it has begun to lead since its start.
    pub elections: u64,
    /// Snapshots of the range that it took over since its start.
    pub snapshots: u64,
    /// Keys with a value of a transaction that is not known yet to have committed.
    pub intents: u64,
    /// How old the oldest of them is, in milliseconds.
    pub oldest_intent_ms: u64,
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
    pub refill: Option<Refill>,
    /// Whether it lacks much of what others have, and gets it.
    pub catching_up: bool,
    /// How far it is behind the shard of which it lacks most, in milliseconds.
    pub behind_ms: u64,
    /// What it copies from others because their logs no longer reach back to where it is.
    pub backfilling: Vec<Backfill>,
    /// Whether writes wait, for a replica that is about to fall off its log.
    pub slows: bool,
    /// Partitions of all keyspaces it holds a replica of.
    pub partitions: u64,
    /// Other shards with which it does not share a secret, each with what to do about it.
    #[serde(default)]
    pub distrusts: Vec<String>,
    /// What of its log is kept beyond what is kept anyway, and for whom.
    #[serde(default)]
    pub pins: Vec<Pin>,
    /// Times that one of these was let go because it held more than it may.
    #[serde(default)]
    pub pins_cut: u64,
    /// Keys in its store, counted while they are few. Else its records, estimated: with those that
    /// were deleted, and those that were overwritten and not compacted away yet.
    pub keys: u64,
    /// Whether they were estimated. Servers that do not say so always did.
    #[serde(default = "estimated")]
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

/// What a shard copies from another because the log of that no longer reaches back to where it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Backfill {
    /// From whom.
    pub from: String,
    /// Partitions that are looked through there.
    pub parts: u64,
    /// Partitions that have been.
    pub parts_done: u64,
    /// Records that came.
    pub records: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Bytes of records looked at there, with those that are here already.
    pub looked_bytes: u64,
    /// Bytes looked at a second, over the last seconds.
    pub looked_bytes_per_s: u64,
    /// Seconds it has yet to go, by what it took so far; absent before the first partition is done.
    pub left_s: Option<u64>,
}

fn estimated() -> bool {
    true
}

/// Log that a shard keeps for somebody who reads it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pin {
    /// Who reads it.
    pub holder: String,
    /// First record kept.
    pub position: u64,
    /// Bytes from there on.
    pub bytes: u64,
    /// Since when, in milliseconds.
    pub held_ms: u64,
    /// Nothing is kept any more: it held too much, or its reader stood still.
    pub let_go: bool,
}

/// Why a shard answers no reads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Refill {
    /// Why it may lack what it once acknowledged.
    pub reason: String,
    /// Shards that have not given it all yet, as `NODE/SHARD`.
    pub waits_for: Vec<String>,
    /// What of its own keeps it from being filled, and what is to be done about that.
    #[serde(default)]
    pub damage: Option<String>,
}

/// A stream of changes that a client follows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChangeStream {
    /// The shard that serves it, `NODE/SHARD`.
    pub at: String,
    /// Of which keyspace.
    pub keyspace: String,
    /// Who follows.
    pub who: String,
    /// The named cursor that it goes by.
    pub cursor: Option<String>,
    /// `snapshot`, `catching_up`, `streaming`, or `not_read`: its client takes nothing.
    pub state: String,
    /// Log records that it has yet to read; none while it is given a snapshot.
    pub entries_behind: Option<u64>,
    /// Bytes of these, roughly.
    pub bytes_behind: Option<u64>,
    /// How far it is behind, in milliseconds.
    pub behind_ms: u64,
    /// Changes told.
    pub changes: u64,
    /// Bytes of keys and values told each second.
    pub bytes_per_s: u64,
    /// Since when it is connected, in milliseconds.
    pub connected_ms: u64,
}

/// One shard that follows the log of another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Follower {
    /// The shard whose log is read, `NODE/SHARD`.
    pub from: String,
    /// The shard that follows it, `NODE/SHARD`.
    pub to: String,
    /// Entries not yet acknowledged.
    pub items_remaining: u64,
    /// Bytes of them, roughly; 0 of servers that do not say.
    pub bytes_remaining: u64,
    /// Bytes sent each second, over the last seconds.
    pub bytes_per_s: f64,
    /// Median time from a write to its acknowledgement, in microseconds, over the last seconds.
    pub latency_us_p50: u64,
    /// 95th percentile of the same.
    pub latency_us_p95: u64,
    /// 99th percentile of the same.
    pub latency_us_p99: u64,
    /// Whether a connection stands.
    pub connected: bool,
    /// `streaming`, `catching_up`, `backfilling` or `down`.
    pub state: String,
    /// What a newer server says beyond this.
    #[serde(flatten)]
    pub more: serde_json::Map<String, serde_json::Value>,
}
