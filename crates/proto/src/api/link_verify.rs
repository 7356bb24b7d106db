//! Comparisons of two linked clusters: the requests of one to the other, and the progress of a comparison.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::HexVersion;

/// A range of keys of one partition: `POST /v1/keyspaces/NAME/digests`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DigestRequest {
    /// Number of the keyspace.
    pub keyspace_id: u32,
    /// The partition, of the larger of the two clusters' partition counts.
    pub partition: u16,
    /// That count.
    pub of: u16,
    /// First key, in base64.
    pub start_base64: String,
    /// First key behind the range, in base64; the end of the partition, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_base64: Option<String>,
    /// Records with later versions are left out.
    pub until: HexVersion,
    /// Values that expire before are left out, in milliseconds since 1970.
    pub expires_ms: u64,
    /// The most stored records that are read.
    pub records_max: u32,
    /// Whether each record is listed.
    #[serde(default)]
    pub list: bool,
}

/// The values in such a range: deletes are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DigestAnswer {
    /// The partition count. Where it is larger than that of the request, nothing else is said.
    pub partitions: u16,
    /// How many values there are.
    pub records: u64,
    /// Sum of the hashes of all, 32 hexadecimal digits.
    pub sum: String,
    /// Where it goes on, in base64, if more records would have been read than the request allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_base64: Option<String>,
    /// Each record as an entry in base64, with the hash of its value in place of the value, if a list was requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entries_base64: Vec<String>,
    /// Bytes of keys and values that were read.
    pub read_bytes: u64,
}

/// Some keys: `POST /v1/keyspaces/NAME/compare`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompareRequest {
    /// Number of the keyspace.
    pub keyspace_id: u32,
    /// The keys, in base64.
    pub keys_base64: Vec<String>,
    /// Whether values are wanted, too, and not only their hashes.
    #[serde(default)]
    pub values: bool,
}

/// Their records by a majority of the replicas, deletes among them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompareAnswer {
    /// Each as an entry in base64, with the hash of its value, or with its value. Where values are wanted, fewer than
    /// requested may come.
    pub entries_base64: Vec<String>,
    /// The clusters whose entries the keyspace has had, its own among them.
    pub homes: Vec<String>,
}

/// The kind of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// The other cluster does not have a value or delete, or an older one.
    MissingThere,
    /// The other cluster has no value of a key, and no delete: it is lost, or was deleted there longer ago than deletes
    /// are remembered.
    MissingOrDeletedThere,
    /// The value is deleted here, and still there.
    NotDeletedThere,
    /// Both have the same version with different values.
    OtherValue,
    /// The other cluster has something newer, which no link brings here.
    NewerThere,
    /// The other cluster has something newer which this one had, or a link has brought here: it is lost here.
    MissingHere,
}

/// A key that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DifferentKey {
    /// The key, in base64.
    pub key_base64: String,
    /// How it differs.
    pub what: Difference,
    /// Version of the record here; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_here: Option<String>,
    /// Of the one there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version_there: Option<String>,
}

/// The phase of a comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifyPhase {
    /// It waits until all writes of before its beginning are delivered.
    #[default]
    Waiting,
    /// It reads and compares.
    Comparing,
    /// It is done.
    Done,
}

/// The progress of a comparison; the last line is its result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LinkVerified {
    /// What it does now.
    pub phase: VerifyPhase,
    /// Partitions that are compared, of `partitions`.
    pub compared: u64,
    /// All partitions.
    pub partitions: u64,
    /// Writes up to this version are compared.
    pub until: HexVersion,
    /// Values here that were compared.
    pub records: u64,
    /// Keys that were read on majorities of both clusters, because ranges differed.
    pub confirmed: u64,
    /// Keys that differ, by kind.
    pub differences: BTreeMap<Difference, u64>,
    /// Of these, those that are equal since a repair.
    pub repaired: u64,
    /// Keys of which it is not known whether they differ.
    pub not_known: u64,
    /// Why, and why it ended early, if it did.
    pub why: Option<String>,
    /// The first keys that differ.
    pub examples: Vec<DifferentKey>,
}

impl LinkVerified {
    /// How many keys differ; those that were repaired count.
    pub fn different(&self) -> u64 {
        self.differences.values().sum()
    }
}
