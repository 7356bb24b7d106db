//! Figures of a node's shards.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::meters::CLASSES;
use crate::shard::ShardStatus;

type Labels = Vec<(&'static str, String)>;
type Read = fn(&ShardStatus) -> u64;

/// Name without the `_total` that the encoder adds, help, and where the figure comes from.
const COUNTERS: &[(&str, &str, Read)] = &[
    (
        "dunlin_writes",
        "Writes that entered the cluster here",
        |s| s.writes,
    ),
    ("dunlin_reads", "Reads coordinated here", |s| s.reads),
    ("dunlin_disk_reads", "Reads that went to the disk", |s| {
        s.disk_reads
    }),
    (
        "dunlin_damaged_reads",
        "Reads that met damaged bytes",
        |s| s.damaged_reads,
    ),
    (
        "dunlin_restamps",
        "Writes stamped again above a newer version",
        |s| s.restamps,
    ),
    (
        "dunlin_values_ended",
        "Values whose time was over, and whose end was logged",
        |s| s.ended,
    ),
    (
        "dunlin_read_repairs",
        "Stale replicas mended after a read",
        |s| s.repairs,
    ),
    (
        "dunlin_read_hedges",
        "Reads that asked one more replica",
        |s| s.hedges,
    ),
    ("dunlin_flushes", "Memtable flushes", |s| s.flushes),
    (
        "dunlin_backfilled_records",
        "Records received by backfill",
        |s| s.backfilled,
    ),
    (
        "dunlin_backfilled_bytes",
        "Bytes of records received by backfill",
        |s| s.backfilled_bytes,
    ),
    (
        "dunlin_backfill_looked_bytes",
        "Bytes of records that other replicas looked at for backfills of this shard",
        |s| s.backfill_looked_bytes,
    ),
    (
        "dunlin_backfills",
        "Backfills begun, each of one other replica",
        |s| s.backfills,
    ),
    (
        "dunlin_writes_slowed",
        "Writes held up for a replica that was about to fall off the log",
        |s| s.slowed,
    ),
    (
        "dunlin_moved_records",
        "Records taken over while members changed",
        |s| s.moved,
    ),
    (
        "dunlin_copied_again",
        "Times that all that was copied from another shard had to be copied again",
        |s| s.copied_again,
    ),
    (
        "dunlin_log_pins_cut",
        "Times that what a reader of the log needed was let go, for it was more than --pins",
        |s| s.pins_cut,
    ),
    ("dunlin_http_requests", "HTTP requests served", |s| {
        s.http_requests
    }),
    ("dunlin_log_records", "Records appended to the log", |s| {
        s.log_records
    }),
    ("dunlin_log_bytes", "Bytes appended to the log", |s| {
        s.log_bytes
    }),
    ("dunlin_log_groups", "Groups written to the log", |s| {
        s.log_groups
    }),
    ("dunlin_log_syncs", "Syncs of the log", |s| s.log_syncs),
    (
        "dunlin_broken_scans",
        "Ranges that broke off after their first page",
        |s| s.broken_scans,
    ),
    (
        "dunlin_row_cache_hits",
        "Reads here that found their record in the row cache",
        |s| s.row_cache_hits,
    ),
    (
        "dunlin_row_cache_misses",
        "Reads here that did not; those not in dunlin_disk_reads_total were answered by memtables and block cache",
        |s| s.row_cache_misses,
    ),
    (
        "dunlin_store_errors",
        "Flushes and compactions that failed",
        |s| s.store_errors,
    ),
];

const GAUGES: &[(&str, &str, Read)] = &[
    ("dunlin_up", "1 while the shard takes writes", |s| {
        u64::from(s.trouble.is_none())
    }),
    (
        "dunlin_pending_writes",
        "Writes waiting for replicas",
        |s| s.pending_writes,
    ),
    (
        "dunlin_apply_backlog",
        "Log records not yet applied to the store",
        |s| s.apply_backlog,
    ),
    (
        "dunlin_log_pinned_bytes",
        "Bytes of the log from the first record on that a pin keeps",
        |s| s.pins.iter().map(|pin| pin.bytes).max().unwrap_or(0),
    ),
    (
        "dunlin_log_pending_bytes",
        "Bytes of records not yet written to the log",
        |s| s.log_pending_bytes,
    ),
    (
        "dunlin_peers_distrusted",
        "Other shards with which it does not share a secret: not connected, or connected without a proof",
        |s| s.distrusts.len() as u64,
    ),
    ("dunlin_log_segments", "Segments of the log", |s| {
        s.log_segments
    }),
    (
        "dunlin_log_segment_bytes",
        "Bytes of the log's segments",
        |s| s.log_segment_bytes,
    ),
    (
        "dunlin_peer_queue_bytes",
        "Bytes waiting to be sent to other shards",
        |s| s.peer_queue_bytes,
    ),
    (
        "dunlin_peer_calls",
        "Calls to other shards without an answer",
        |s| s.peer_calls,
    ),
    (
        "dunlin_vector_origins",
        "Starts of shards that the vector names",
        |s| s.vector_origins,
    ),
    ("dunlin_memtable_bytes", "Bytes in the memtable", |s| {
        s.memtable_bytes
    }),
    (
        "dunlin_memtables_waiting",
        "Memtables that wait to be written",
        |s| s.memtables_waiting,
    ),
    (
        "dunlin_level0_files",
        "Files of the store that no compaction has merged yet",
        |s| s.level0_files,
    ),
    (
        "dunlin_compaction_debt_bytes",
        "Bytes that compactions have yet to rewrite, estimated",
        |s| s.compaction_debt_bytes,
    ),
    (
        "dunlin_backfill_left",
        "Replicas that have not given the shard all it lacks, and pieces it has yet to copy while members change",
        |s| s.backfill_left,
    ),
    (
        "dunlin_backfill_parts_left",
        "Partitions that backfills under way have yet to look through",
        |s| s.backfilling.iter().map(|b| b.parts - b.parts_done).sum(),
    ),
    ("dunlin_store_bytes", "Bytes in the store's files", |s| {
        s.store_bytes
    }),
    (
        "dunlin_store_keys",
        "Records in the store, estimated",
        |s| s.store_keys,
    ),
];

/// What a shard is doing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Serving,
    /// It answers, and lacks much of what others have.
    CatchingUp,
    /// It is being filled, and answers no reads.
    Refilling,
    /// It takes no writes.
    Failing,
}

impl State {
    const ALL: [State; 4] = [
        State::Serving,
        State::CatchingUp,
        State::Refilling,
        State::Failing,
    ];

    fn of(status: &ShardStatus) -> State {
        match (&status.trouble, status.refilling) {
            (Some(_), _) => State::Failing,
            (None, true) => State::Refilling,
            (None, false) if status.is_catching_up() => State::CatchingUp,
            (None, false) => State::Serving,
        }
    }

    fn name(self) -> &'static str {
        match self {
            State::Serving => "serving",
            State::CatchingUp => "catching_up",
            State::Refilling => "refilling",
            State::Failing => "failing",
        }
    }
}

/// What each shard tells of itself.
pub(super) fn of_shards(registry: &mut Registry, statuses: &[ShardStatus]) {
    for (name, help, read) in COUNTERS {
        let family = Family::<Labels, Counter>::default();
        for status in statuses {
            family.get_or_create(&labels(status)).inc_by(read(status));
        }
        registry.register(*name, *help, family);
    }
    for (name, help, read) in GAUGES {
        let family = Family::<Labels, Gauge<u64, AtomicU64>>::default();
        for status in statuses {
            family.get_or_create(&labels(status)).set(read(status));
        }
        registry.register(*name, *help, family);
    }
    let syncs = Family::<Labels, Counter<f64, AtomicU64>>::default();
    let responses = Family::<Labels, Counter>::default();
    let states = Family::<Labels, Gauge<u64, AtomicU64>>::default();
    let behind = Family::<Labels, Gauge<f64, AtomicU64>>::default();
    for status in statuses {
        let behind_s = status.behind_ms as f64 / 1e3;
        behind.get_or_create(&labels(status)).set(behind_s);
        let sync_s = status.log_sync_us as f64 / 1e6;
        syncs.get_or_create(&labels(status)).inc_by(sync_s);
        let with = |name, value: &str| {
            let mut labels = labels(status);
            labels.push((name, value.to_owned()));
            labels
        };
        for (class, count) in CLASSES.iter().zip(status.http_responses) {
            responses
                .get_or_create(&with("status", class))
                .inc_by(count);
        }
        let now = State::of(status);
        for state in State::ALL {
            states
                .get_or_create(&with("state", state.name()))
                .set(u64::from(state == now));
        }
    }
    registry.register(
        "dunlin_behind_seconds",
        "How far the shard is behind the writer of which it lacks most, in seconds",
        behind,
    );
    registry.register(
        "dunlin_log_sync_seconds",
        "Time that syncs of the log took, in seconds",
        syncs,
    );
    registry.register(
        "dunlin_http_responses",
        "HTTP requests answered, by class of the status",
        responses,
    );
    registry.register(
        "dunlin_shard_state",
        "1 for the state that the shard is in, 0 for the others",
        states,
    );
    let remaining = Family::<Labels, Gauge<u64, AtomicU64>>::default();
    let bytes = Family::<Labels, Gauge<u64, AtomicU64>>::default();
    let p99 = Family::<Labels, Gauge<f64, AtomicU64>>::default();
    for follower in statuses.iter().flat_map(|s| &s.followers) {
        let labels = vec![("from", follower.from.clone()), ("to", follower.to.clone())];
        remaining
            .get_or_create(&labels)
            .set(follower.items_remaining);
        bytes.get_or_create(&labels).set(follower.bytes_remaining);
        let p99_s = follower.latency_us_p99 as f64 / 1e6;
        p99.get_or_create(&labels).set(p99_s);
    }
    registry.register(
        "dunlin_replication_items_remaining",
        "Log records a replica has yet to acknowledge",
        remaining,
    );
    registry.register(
        "dunlin_replication_remaining_bytes",
        "Bytes of these, roughly: as much of the log as they take, whoever they are for",
        bytes,
    );
    registry.register(
        "dunlin_replication_latency_p99_seconds",
        "99th percentile of the time from stamping to a replica's acknowledgement, in seconds",
        p99,
    );
}

fn labels(status: &ShardStatus) -> Labels {
    vec![("shard", status.shard.clone())]
}
