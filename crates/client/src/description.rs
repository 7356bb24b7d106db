//! What a keyspace is: its settings, as sent and as told.

use serde::{Deserialize, Serialize};

use crate::recovery::RangeRecovered;

/// A keyspace to be created; settings left out are the server's defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CreateKeyspace {
    /// Its name.
    pub name: String,
    /// How its replicas agree: `quorum` or `transactional`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Copies of each key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u16>,
    /// Slices it is spread in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partitions: Option<u16>,
    /// When a write reaches the disk: `always`, `never` or `interval:100ms`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<String>,
    /// Seconds a delete is remembered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tombstone_grace_s: Option<u64>,
    /// Keys at which a transactional keyspace is cut into ranges, ascending.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub split_at: Vec<String>,
    /// What of the log is kept for its followers.
    #[serde(skip_serializing_if = "Retention::is_empty")]
    pub retention: Retention,
}

/// What of each shard's log is kept for who follows a keyspace. What is left out sets no bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Retention {
    /// The last so many bytes stay, whether anybody needs them or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_bytes: Option<u64>,
    /// What was logged in the last so many seconds stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_age_s: Option<u64>,
    /// A follower holds back no more than the last so many bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// Nor what was logged more than so many seconds ago.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_age_s: Option<u64>,
}

impl Retention {
    /// Whether it sets no bound.
    pub fn is_empty(&self) -> bool {
        *self == Retention::default()
    }
}

/// A keyspace as the cluster describes it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KeyspaceDescription {
    /// Its name.
    pub name: String,
    /// Its number in keys and logs.
    pub id: u32,
    /// How it is kept.
    pub settings: KeyspaceSettings,
    /// What of the log is kept for its followers.
    #[serde(default, skip_serializing_if = "Retention::is_empty")]
    pub retention: Retention,
    /// Its ranges, where it is transactional.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<RangeDescription>,
}

/// A range of keys, as its keyspace's record names it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RangeDescription {
    /// Its number in the keyspace.
    pub number: u64,
    /// Its first key.
    pub start: String,
    /// Number of the configuration of its replicas that was published last.
    pub config: u64,
    /// Number of the target, which says where replicas should be.
    pub planned: u64,
    /// How it was recovered last, if it ever was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovered: Option<RangeRecovered>,
    /// What a server says beyond this.
    #[serde(flatten)]
    pub more: serde_json::Map<String, serde_json::Value>,
}

/// A keyspace that was dropped.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DroppedKeyspace {
    /// As it was.
    pub keyspace: KeyspaceDescription,
    /// When, in milliseconds since 1970.
    pub dropped_ms: u64,
    /// Whether its data is gone.
    pub purged: bool,
    /// What a newer server says beyond this.
    #[serde(flatten)]
    pub more: serde_json::Map<String, serde_json::Value>,
}

/// What is stored under stamps far ahead, in a part of a keyspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MendedStamps {
    /// Keys whose newest value or delete is stamped so.
    pub found: u64,
    /// Those that were mended.
    pub mended: u64,
    /// The first of them.
    pub records: Vec<FarRecord>,
    /// Nodes that are being filled, and were not looked at.
    pub filling: Vec<String>,
    /// Where to go on; `None` at the end.
    pub next: Option<String>,
}

/// One key under a stamp far ahead.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FarRecord {
    /// The key where it is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The key where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_base64: Option<String>,
    /// The stamp's milliseconds since 1970.
    pub stamped_ms: u64,
    /// How far ahead of the answering node's clock.
    pub ahead_ms: u64,
    /// Whether it remembers a delete.
    pub is_delete: bool,
}

/// How a keyspace is kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeyspaceSettings {
    /// `quorum` or `transactional`.
    pub mode: String,
    /// Copies of each key.
    pub replicas: u16,
    /// Slices it is spread in.
    pub partitions: u16,
    /// When a write reaches the disk.
    pub sync: String,
    /// Seconds a delete is remembered.
    pub tombstone_grace_s: u64,
    /// What a newer server says beyond this.
    #[serde(flatten)]
    pub more: serde_json::Map<String, serde_json::Value>,
}
