//! Figures of a node's shards.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

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
        "dunlin_moved_records",
        "Records taken over while members changed",
        |s| s.moved,
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
        "dunlin_log_pending_bytes",
        "Bytes of records not yet written to the log",
        |s| s.log_pending_bytes,
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
    ("dunlin_store_bytes", "Bytes in the store's files", |s| {
        s.store_bytes
    }),
    (
        "dunlin_store_keys",
        "Records in the store, estimated",
        |s| s.store_keys,
    ),
];

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
    let remaining = Family::<Labels, Gauge<u64, AtomicU64>>::default();
    let p99 = Family::<Labels, Gauge<f64, AtomicU64>>::default();
    for link in statuses.iter().flat_map(|s| &s.links) {
        let labels = vec![("from", link.from.clone()), ("to", link.to.clone())];
        remaining.get_or_create(&labels).set(link.items_remaining);
        let p99_s = link.latency_us_p99 as f64 / 1e6;
        p99.get_or_create(&labels).set(p99_s);
    }
    registry.register(
        "dunlin_replication_items_remaining",
        "Log records a replica has yet to acknowledge",
        remaining,
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
