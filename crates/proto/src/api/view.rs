//! Views over HTTP.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A view and its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// Its name.
    pub name: String,
    /// Source of its map function.
    pub map: String,
    /// Its reduce function: a built-in by name, or source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reduce: Option<String>,
    /// When it was created, in milliseconds since 1970.
    pub created_ms: u64,
    /// Its functions changed, or it is being rebuilt: queries read the previous index until this one is complete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takes_over: bool,
    /// Why the new index does not take over although it is complete: what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_back: Option<String>,
    /// Whether the index is complete at all shards that can be reached.
    pub is_whole: bool,
    /// How much of the index is built at the slowest shard, from 0 to 1.
    pub built: f64,
    /// Estimated time to completion, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_ms: Option<u64>,
    /// The state at each shard.
    pub shards: Vec<ViewAtShard>,
    /// Shards with partitions of the view that do not reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreachable: Vec<String>,
}

/// The state of a view at one shard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ViewAtShard {
    /// The shard, `NODE/SHARD`.
    pub at: String,
    /// Partitions that it holds.
    pub partitions: usize,
    /// Partitions whose index is complete.
    pub whole: usize,
    /// How much of the index is built, from 0 to 1.
    pub built: f64,
    /// Estimated time to completion, in milliseconds, while it is being built.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_ms: Option<u64>,
    /// Documents with rows.
    pub documents: u64,
    /// Rows.
    pub rows: u64,
    /// Documents that the index skips because the map function failed.
    pub failed: u64,
    /// The latest of these.
    pub skipped: Vec<SkippedDocument>,
    /// Estimated bytes of the log that the index has not read yet; absent during a snapshot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_behind: Option<u64>,
    /// Why the index does not make progress, if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A document that an index skips.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedDocument {
    /// Its key as text; bytes that are not UTF-8 are replaced.
    pub id: String,
    /// The error of the map function.
    pub reason: String,
}

/// The result of a map function for one document.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TriedDocument {
    /// The document's key.
    pub id: String,
    /// The rows that the function emits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<Vec<TriedRow>>,
    /// Why it fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A row that a map function emits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TriedRow {
    /// Its key.
    pub key: Box<RawValue>,
    /// Its value.
    pub value: Box<RawValue>,
}

/// The verification of a view at one shard: progress reports, then the result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ViewVerified {
    /// The shard, `NODE/SHARD`.
    pub at: String,
    /// How much of the records has been read again, from 0 to 1.
    pub read: f64,
    /// Whether this is the result.
    pub is_done: bool,
    /// Documents compared.
    pub documents: u64,
    /// Rows compared.
    pub rows: u64,
    /// Documents that changed after the position of the comparison: they are not compared.
    pub changed: u64,
    /// Number of differences.
    pub differences: u64,
    /// The first of these.
    pub examples: Vec<ViewDifference>,
    /// Sums over the documents of each partition, which must be the same at replicas in the same state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partitions: Vec<PartitionSum>,
    /// The position of the comparison, as a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Why there is no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A sum over the documents of a partition at one replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartitionSum {
    /// The partition.
    pub partition: u16,
    /// A sum over the replica's position: the same at replicas in the same state.
    pub position: u64,
    /// A sum over documents, their rows and values.
    pub rows: u64,
}

/// A difference between an index and the records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewDifference {
    /// Key of the document or of the row.
    pub of: String,
    /// The difference.
    pub what: String,
}
