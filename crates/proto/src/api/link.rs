//! Links between clusters: their state, and the messages between their two ends.

use std::collections::BTreeMap;
use std::fmt;

use dunlin_entry::Version;
use serde::{Deserialize, Serialize};

/// How a link is doing; the greatest of its shards is the link's.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum LinkState {
    /// All that there is was acknowledged.
    #[default]
    Current,
    /// Changes are on their way.
    CatchingUp,
    /// Stored records are on their way.
    Loading,
    /// Nothing is sent for now: somebody has paused it.
    Paused,
    /// The target does not answer, or refuses.
    Waiting,
    /// The clocks of the two clusters differ by more than the bound.
    Clock,
    /// Half of the tombstone grace has passed since all was acknowledged.
    Late,
    /// The keyspace at the target is gone, or another one has its name.
    TargetGone,
    /// Three quarters of the tombstone grace have passed: drop the link, and make it anew.
    Broken,
}

impl LinkState {
    /// As in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            LinkState::Current => "current",
            LinkState::CatchingUp => "catching_up",
            LinkState::Loading => "loading",
            LinkState::Paused => "paused",
            LinkState::Waiting => "waiting",
            LinkState::Clock => "clock",
            LinkState::Late => "late",
            LinkState::TargetGone => "target_gone",
            LinkState::Broken => "broken",
        }
    }
}

impl fmt::Display for LinkState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A link that is to be made: `POST /v1/keyspaces/NAME/links`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateLink {
    /// Its name, one in the cluster.
    pub name: String,
    /// Servers of the other cluster, `http://HOST:PORT` each.
    pub to: Vec<String>,
    /// Name of the keyspace there.
    pub keyspace: String,
    /// Keys that begin with this are sent; all, where it is empty.
    #[serde(default)]
    pub prefix: String,
    /// Bytes of keys and values a second that are sent at most.
    #[serde(default)]
    pub limit_bytes_per_s: Option<u64>,
    /// Name of a login in the file of each node.
    #[serde(default)]
    pub login: Option<String>,
    /// The keyspace is made there, with the settings of this one, if it is missing.
    #[serde(default)]
    pub create: bool,
    /// A second link of the same name leads back. The request can be repeated until that one is made.
    #[serde(default)]
    pub both_ways: bool,
    /// Servers of this cluster, as the other one reaches them.
    #[serde(default)]
    pub back: Vec<String>,
}

/// A keyspace as a link finds it: `GET /v1/keyspaces/NAME/link-target`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkTarget {
    /// Id of its cluster, 32 hexadecimal digits.
    pub cluster: String,
    /// Its number.
    pub keyspace_id: u32,
    /// `quorum` or `transactional`.
    pub mode: String,
    /// For how long it remembers deletes, in seconds.
    pub tombstone_grace_s: u64,
    /// The largest value it takes, in bytes.
    pub max_body_bytes: u64,
    /// The clock there, in milliseconds since 1970.
    pub clock_ms: u64,
    /// The greatest difference of clocks there, in milliseconds.
    pub clock_bound_ms: u64,
    /// Whether no shard holds any record of it, deletes among them.
    pub is_empty: bool,
    /// The ids of the clusters whose entries it has had, its own among them.
    #[serde(default)]
    pub homes: Vec<String>,
}

/// A version in JSON: 16 hexadecimal digits.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct HexVersion(pub Version);

impl TryFrom<String> for HexVersion {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<HexVersion, Self::Error> {
        u64::from_str_radix(&text, 16).map(|version| HexVersion(Version(version)))
    }
}

impl From<HexVersion> for String {
    fn from(version: HexVersion) -> String {
        format!("{:016x}", version.0.0)
    }
}

/// The progress of a link with entries of a *home*, a cluster that made them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HomeProgress {
    /// A delete of an entry that is still to come is newer than this: the age counts from it while nothing is delivered.
    pub since: HexVersion,
    /// All entries of the home up to this version are on a majority at the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered: Option<HexVersion>,
    /// Nothing more of them comes to the sender, which may not have all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_ended: bool,
}

/// The progress of a link by home: by the id of its cluster, 32 hexadecimal digits, and where only keys with a prefix are
/// sent, a slash and the prefix.
pub type Homes = BTreeMap<String, HomeProgress>;

/// The answer to a batch of entries that are all on a majority.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntriesTaken {
    /// The clock there, in milliseconds since 1970.
    pub clock_ms: u64,
    /// Entries that were logged.
    #[serde(default)]
    pub logged: u64,
    /// That were there already.
    #[serde(default)]
    pub held: u64,
    /// In place of which something newer was there.
    #[serde(default)]
    pub older: u64,
    /// That the receiver's own cluster had made.
    #[serde(default)]
    pub own: u64,
    /// With future timestamps, which were left out.
    #[serde(default)]
    pub future: Vec<FutureEntry>,
}

/// An entry whose timestamp is in the future.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FutureEntry {
    /// Its key, in base64.
    pub key_base64: String,
    /// Its version.
    pub version: String,
}

/// What a sender reports of its link: `POST /v1/keyspaces/NAME/link-progress`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkReport {
    /// Number of the link at the sender.
    pub link: u32,
    /// Its name there.
    pub name: String,
    /// Id of the sender's cluster, 32 hexadecimal digits.
    pub cluster: String,
    /// Number of the sender's keyspace.
    pub keyspace_id: u32,
    /// Keys that begin with this are sent.
    #[serde(default)]
    pub prefix: String,
    /// Its progress by home.
    #[serde(default)]
    pub homes: Homes,
    /// The link was dropped: nothing comes over it any more.
    #[serde(default)]
    pub is_dropped: bool,
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkError {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// What, in one line.
    pub line: String,
}

/// What a link has done, and how fast.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LinkCounts {
    /// Entries that were acknowledged.
    pub sent: u64,
    /// Bytes of their keys and values.
    pub sent_bytes: u64,
    /// Of them, those that were at the target already.
    pub held: u64,
    /// Of them, those in place of which the target had something newer.
    pub older: u64,
    /// Of them, those that the target's own cluster had made.
    pub own: u64,
    /// Of them, those with future timestamps, which the target left out.
    pub future: u64,
    /// Entries that were not sent: the target had made them, or had them before.
    pub filtered: u64,
    /// Requests that were sent again.
    pub retries: u64,
    /// Entries that are still to be read; 0 while that is not known.
    pub entries_behind: u64,
    /// Bytes of these, roughly.
    pub bytes_behind: u64,
    /// Bytes acknowledged per second, over the last seconds.
    pub bytes_per_s: u64,
    /// From a write to its acknowledgement by the target, in milliseconds: 80 of 100 took no longer.
    pub latency_ms_p80: u64,
    /// 95 of 100.
    pub latency_ms_p95: u64,
    /// 99 of 100.
    pub latency_ms_p99: u64,
}

/// A link at one shard.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LinkAtShard {
    /// The shard, `NODE/SHARD`.
    pub at: String,
    /// How it is doing there.
    pub state: LinkState,
    /// Why, and what to do, where there is anything to say.
    pub why: Option<String>,
    /// Partitions that this shard sends.
    pub partitions: u64,
    /// Those of them of which stored records are on their way.
    pub loading: u64,
    /// Whether the target has acknowledged anything.
    pub is_acknowledged: bool,
    /// What it has done since the node's start.
    #[serde(flatten)]
    pub counts: LinkCounts,
    /// The last errors.
    pub errors: Vec<LinkError>,
}

/// A link, all its shards together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LinkStatus {
    /// Its name.
    pub name: String,
    /// The keyspace here.
    pub from: String,
    /// Servers of the other cluster.
    pub to: Vec<String>,
    /// The keyspace there.
    pub keyspace: String,
    /// Id of the other cluster.
    pub cluster: String,
    /// Keys that begin with this are sent.
    pub prefix: String,
    /// Bytes a second that are sent at most.
    pub limit_bytes_per_s: Option<u64>,
    /// Name of its login.
    pub login: Option<String>,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// How it is doing.
    pub state: LinkState,
    /// Why, and what to do, where there is anything to say.
    pub why: Option<String>,
    /// Why the link back is not made yet; it is made by the same request again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub back_waits: Option<String>,
    /// How long ago that is up to which all writes of all clusters that go over the link are acknowledged, in seconds;
    /// absent before the first round.
    pub delivered_age_s: Option<u64>,
    /// How old that may become before the link is broken, in seconds.
    pub age_s_max: u64,
    /// Its progress by home.
    pub homes: Homes,
    /// The clock of the node that answers, in milliseconds since 1970.
    pub now_ms: u64,
    /// What its shards have done since their nodes' starts, together; of latencies, those of the slowest.
    #[serde(flatten)]
    pub counts: LinkCounts,
    /// Its shards.
    pub shards: Vec<LinkAtShard>,
    /// Shards that do not answer.
    pub unreachable: Vec<String>,
}

/// A link from another cluster, as its receiver sees it: `GET /v1/inbound-links`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InboundLink {
    /// Its name at the sender; empty before the sender's first report.
    pub name: String,
    /// The keyspace here.
    pub keyspace: String,
    /// Id of the sender's cluster.
    pub cluster: String,
    /// Number of the link at the sender.
    pub link: u32,
    /// Keys that begin with this arrive.
    pub prefix: String,
    /// `current`, `late` or `broken`; a dropped one is broken, too.
    pub state: LinkState,
    /// It is dropped, by its sender or here: entries that come over it are refused.
    pub is_dropped: bool,
    /// Why, and what to do, where there is anything to say.
    pub why: Option<String>,
    /// How old that is up to which the entries of all its homes have arrived, in seconds.
    pub age_s: u64,
    /// Its progress by home.
    pub homes: Homes,
}
