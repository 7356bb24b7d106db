//! Figures of the replicas of transactional keyspaces that a node holds.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::plug::RangeStatus;
use crate::shard::ShardStatus;

type Labels = Vec<(&'static str, String)>;
type Read = fn(&RangeStatus) -> u64;

const FIGURES: [(&str, &str, Read); 9] = [
    (
        "dunlin_range_leader",
        "Whether the replica of the transactional keyspace leads",
        |range| u64::from(range.role == "leader"),
    ),
    (
        "dunlin_range_mute",
        "Whether it keeps silent, or has failed: it holds less than it once promised",
        |range| u64::from(matches!(range.role.as_str(), "mute" | "failed")),
    ),
    ("dunlin_range_term", "Its term", |range| range.term),
    (
        "dunlin_range_last_index",
        "Index of the last entry of its log",
        |range| range.last,
    ),
    (
        "dunlin_range_committed_index",
        "Index of the last entry that it knows a majority to have",
        |range| range.committed,
    ),
    (
        "dunlin_range_applied_index",
        "Index of the last entry that it has applied",
        |range| range.applied,
    ),
    (
        "dunlin_range_behind_entries",
        "Entries that the replica furthest behind lacks, as the leader knows",
        |range| range.behind,
    ),
    (
        "dunlin_range_elections",
        "How often it has begun to lead since its start",
        |range| range.elections,
    ),
    (
        "dunlin_range_snapshots",
        "Snapshots of the range that it took over since its start",
        |range| range.snapshots,
    ),
];

/// What each replica tells of itself.
pub(super) fn of_ranges(registry: &mut Registry, statuses: &[ShardStatus]) {
    let ranges: Vec<&RangeStatus> = statuses.iter().flat_map(|status| &status.ranges).collect();
    for (name, help, read) in FIGURES {
        let family = Family::<Labels, Gauge<u64, AtomicU64>>::default();
        for range in &ranges {
            let labels = vec![
                ("shard", range.at.clone()),
                ("keyspace", range.keyspace.clone()),
            ];
            family.get_or_create(&labels).set(read(range));
        }
        registry.register(name, help, family);
    }
}
