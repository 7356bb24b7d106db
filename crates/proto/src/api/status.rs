//! Parts of `/v1/status`.

use serde::{Deserialize, Serialize};

/// A shard that follows the log of another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowerStatus {
    /// The shard whose log is read, `NODE/SHARD`.
    pub from: String,
    /// The shard that follows it, `NODE/SHARD`.
    pub to: String,
    /// Log records that the follower has not acknowledged yet.
    pub items_remaining: u64,
    /// Bytes that these take in the log, including entries for other followers.
    pub bytes_remaining: u64,
    /// Bytes of entries sent per second, over the last seconds.
    pub bytes_per_s: u64,
    /// Median time from a write to its acknowledgement, in microseconds, over the last seconds with
    /// acknowledgements.
    pub latency_us_p50: u64,
    /// 95th percentile of the same.
    pub latency_us_p95: u64,
    /// 99th percentile of the same.
    pub latency_us_p99: u64,
    /// Whether the follower is connected.
    pub connected: bool,
    /// `streaming`, `catching_up`, `backfilling` or `down`.
    pub state: String,
}

/// A change stream that a shard serves to a client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamStatus {
    /// The shard that serves it, `NODE/SHARD`.
    pub at: String,
    /// The keyspace.
    pub keyspace: String,
    /// The client.
    pub who: String,
    /// The named cursor of the client, if it has one.
    pub cursor: Option<String>,
    /// `snapshot`, `catching_up`, `streaming`, or `not_read`: the client reads nothing.
    pub state: String,
    /// Log records that the stream has not read yet; absent during a snapshot.
    pub entries_behind: Option<u64>,
    /// Estimated bytes of these.
    pub bytes_behind: Option<u64>,
    /// How old the last change was when it was sent, or for how long changes have been missing, in milliseconds.
    pub behind_ms: u64,
    /// Changes sent.
    pub changes: u64,
    /// Bytes of keys and values sent per second, over the last seconds.
    pub bytes_per_s: u64,
    /// How long the client has been connected, in milliseconds.
    pub connected_ms: u64,
}

/// Streams and views at a shard.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FeedStatus {
    /// Change streams that it serves to clients.
    pub streams: Vec<StreamStatus>,
    /// Views whose index it holds a part of.
    pub views: Vec<ViewStatus>,
    /// Other figures, for the metrics alone.
    pub figures: Vec<Figure>,
}

/// A figure for `/metrics`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Its name.
    pub name: String,
    /// What it says, with its unit.
    pub help: String,
    /// Whether it only grows.
    pub is_counter: bool,
    /// What it is of, by name and value.
    pub labels: Vec<(String, String)>,
    /// What it is now.
    pub value: f64,
}

/// A view at one shard.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ViewStatus {
    /// The shard, `NODE/SHARD`.
    pub at: String,
    /// The keyspace.
    pub keyspace: String,
    /// The view.
    pub view: String,
    /// How much of its index is built there, from 0 to 1.
    pub built: f64,
    /// Rows.
    pub rows: u64,
    /// Documents that the index skips because the map function failed.
    pub failed: u64,
    /// Estimated bytes of the log that the index has not read yet; absent during a snapshot.
    pub bytes_behind: Option<u64>,
    /// Queries that clients sent to this shard since its start.
    pub queries: u64,
    /// How long these took until their first row, together, in microseconds.
    pub queries_us: u64,
    /// Why the index does not make progress, if it does not.
    pub error: Option<String>,
}

/// A replica of a range of keys of a transactional keyspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeStatus {
    /// The shard that holds it, `NODE/SHARD`.
    pub at: String,
    /// The keyspace.
    pub keyspace: String,
    /// Number of the range in the keyspace, from 0.
    pub range: u64,
    /// Number of the replica in the range; 0 where it has none.
    pub id: u64,
    /// `leader`, `follower`, `candidate`, `learner`, `preparing`, `lost` or `failed`.
    pub role: String,
    /// Why it has none of the first four roles.
    pub reason: Option<String>,
    /// The leader's shard, as far as this replica knows.
    pub leader: Option<String>,
    /// Its term.
    pub term: u64,
    /// Index of the last entry in its log.
    pub last: u64,
    /// Index of the last entry that it knows to be committed.
    pub committed: u64,
    /// Index of the last entry that it has applied.
    pub applied: u64,
    /// Entries that the slowest follower has not received yet, at the leader; 0 at followers.
    pub behind: u64,
    /// Elections that it has won since its start.
    pub elections: u64,
    /// Snapshots of the range that it has received since its start.
    pub snapshots: u64,
    /// Intents of transactions, as far as this replica has applied its log.
    pub intents: u64,
    /// Age of the oldest intent, in milliseconds.
    pub oldest_intent_ms: u64,
    /// Number of the keyspace; no other has it, though one may have its name.
    pub number: u32,
    /// Drops and undrops of the keyspace, counted, where it is dropped and no other range needs to know any more which
    /// transactions committed here.
    pub ended: Option<u64>,
    /// Number of the configuration that this replica goes by.
    pub config: u64,
    /// As its leader knows the range; little elsewhere.
    #[serde(flatten)]
    pub led: LedRange,
}

/// A range as its leader knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LedRange {
    /// Whether there are as many replicas as the keyspace wants, each heard within the last second, and
    /// all of them have what the leader has.
    pub whole: bool,
    /// The change of the replicas under way, or its obstacle.
    pub doing: Option<String>,
    /// All replicas.
    pub replicas: Vec<RangeMember>,
    /// Copies of the range that are sent to other replicas.
    pub copies: Vec<RangeCopy>,
    /// Bytes of copies sent since its start.
    pub copied_bytes: u64,
    /// Times since its start that this replica led, and handed over to another.
    pub transfers: u64,
    /// Times that it wanted to, and the other did not lead in time.
    pub failed_transfers: u64,
}

/// A copy of a range on its way to a replica.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RangeCopy {
    /// The shard that gets it, `NODE/SHARD`.
    pub to: String,
    /// Bytes sent.
    pub bytes: u64,
    /// Bytes of the whole, about: as they are on disk, never less than were sent.
    pub about_bytes: u64,
    /// Bytes a second, since it began.
    pub bytes_per_s: u64,
}

/// A replica of a range, as its leader knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeMember {
    /// Its number in the range.
    pub id: u64,
    /// The shard that holds it, `NODE/SHARD`.
    pub at: String,
    /// `voter`, `incoming`, `outgoing` or `learner`.
    pub role: String,
    /// Index of the last entry that it is known to have.
    pub matched: u64,
    /// Whether it was heard within the last second.
    pub heard: bool,
}

impl RangeStatus {
    /// The role of a replica that keeps silent for good: it has lost data that it acknowledged.
    pub const SILENT: &str = "lost";

    /// Whether a range has all its replicas: as its leader says, and as each of them says by itself. A leader takes a
    /// moment to see that a replica has lost its data; and replicas that do not know yet that the newest configuration
    /// is committed could not go by it if the leader were lost.
    pub fn is_whole(leader: &RangeStatus, all: &[RangeStatus]) -> bool {
        let is_same = |row: &RangeStatus| {
            (row.number, row.range) == (leader.number, leader.range)
                && row.config == leader.config
                && matches!(row.role.as_str(), "leader" | "follower")
        };
        let speaks = |member: &RangeMember| {
            let mut rows = all.iter().filter(|row| is_same(row));
            rows.any(|row| (row.id, &row.at) == (member.id, &member.at))
        };
        leader.led.whole && leader.led.replicas.iter().all(speaks)
    }

    /// Whether it keeps silent for good.
    pub fn is_silent(&self) -> bool {
        self.role == RangeStatus::SILENT
    }
}

/// Records that a shard copies from another, whose log no longer has the entries that the shard needs next.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackfillStatus {
    /// The other shard, `NODE/SHARD`.
    pub from: String,
    /// Partitions to read there.
    pub parts: u64,
    /// Partitions read.
    pub parts_done: u64,
    /// Records received.
    pub records: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Bytes of records read there, including those that this shard has already.
    pub bytes_read: u64,
    /// The same per second, over the last seconds.
    pub bytes_read_per_s: u64,
    /// Estimated seconds to the end; absent before the first partition is done.
    pub left_s: Option<u64>,
}

/// Log that a shard keeps for a reader.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinStatus {
    /// The reader.
    pub holder: String,
    /// First log record kept.
    pub position: u64,
    /// Bytes of the log from there on.
    pub bytes: u64,
    /// How long the log has been kept, in milliseconds.
    pub held_ms: u64,
    /// Nothing is kept any more, because the reader held too much or did not continue; this ends when it does.
    pub let_go: bool,
}

/// Why a shard answers no reads: it may have lost data, and other replicas have not sent all of it yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryStatus {
    /// Why data may be missing.
    pub reason: String,
    /// Shards that have not sent all of their data yet, as `NODE/SHARD`.
    pub waits_for: Vec<String>,
    /// Damage of the shard itself that prevents the recovery, and what to do about it.
    pub damage: Option<String>,
}
