//! Figures of the replicas of transactional keyspaces that a node holds, and of transactions.

use std::sync::atomic::AtomicU64;

use dunlin_proto::api::RangeStatus;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::plug::TxnCounts;
use crate::shard::ShardStatus;

type Labels = Vec<(&'static str, String)>;
type Read = fn(&RangeStatus) -> u64;

const FIGURES: [(&str, &str, Read); 15] = [
    (
        "dunlin_range_leader",
        "Whether the replica of the transactional keyspace leads",
        |range| u64::from(range.role == "leader"),
    ),
    (
        "dunlin_range_lost",
        "Whether it keeps silent, or has failed: it holds less than it once promised",
        |range| {
            u64::from(matches!(
                range.role.as_str(),
                RangeStatus::SILENT | "failed"
            ))
        },
    ),
    (
        "dunlin_range_whole",
        "Whether it leads and all replicas of the range are there, heard, and have all its entries",
        |range| u64::from(range.led.whole),
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
        "dunlin_range_transfers",
        "How often it led, and handed over to another replica, since its start",
        |range| range.led.transfers,
    ),
    (
        "dunlin_range_failed_transfers",
        "How often it wanted to, and the other did not lead in time",
        |range| range.led.failed_transfers,
    ),
    (
        "dunlin_range_snapshots",
        "Snapshots of the range that it took over since its start",
        |range| range.snapshots,
    ),
    (
        "dunlin_range_copied_bytes",
        "Bytes of copies of the range sent to other replicas since its start",
        |range| range.led.copied_bytes,
    ),
    (
        "dunlin_range_intents",
        "Keys with a value of a transaction that is not known yet to have committed",
        |range| range.intents,
    ),
    (
        "dunlin_range_oldest_intent_milliseconds",
        "How old the oldest of these is",
        |range| range.oldest_intent_ms,
    ),
];

type ReadTxns = fn(&TxnCounts) -> u64;

/// What became of transactions, by the label `outcome`.
const OUTCOMES: [(&str, ReadTxns); 5] = [
    ("committed", |txns| txns.commits),
    ("conflict", |txns| txns.conflicts),
    ("check_failed", |txns| txns.checks_failed),
    ("unknown", |txns| txns.unknown),
    ("expired", |txns| txns.expired),
];

/// Why attempts at transactions were refused, by the label `cause`.
const CAUSES: [(&str, ReadTxns); 5] = [
    ("changed", |txns| txns.refused_changed),
    ("newer", |txns| txns.refused_newer),
    ("old", |txns| txns.refused_old),
    ("intent", |txns| txns.refused_intent),
    ("aborted", |txns| txns.refused_aborted),
];

const COUNTS: [(&str, &str, ReadTxns); 2] = [
    (
        "dunlin_txn_retries",
        "Attempts at transactions at another timestamp, by the server itself",
        |txns| txns.retries,
    ),
    (
        "dunlin_txn_pushes",
        "Times that the outcome of another transaction was asked for",
        |txns| txns.pushes,
    ),
];

const GAUGES: [(&str, &str, ReadTxns); 2] = [
    (
        "dunlin_txn_waiting",
        "Transactions that wait for the lock of a key, at its leader",
        |txns| txns.waiting,
    ),
    (
        "dunlin_txn_open",
        "Transactions over several requests that are open",
        |txns| txns.open,
    ),
];

/// What each shard tells of the transactions that it has coordinated; nothing where there were none.
pub(super) fn of_txns(registry: &mut Registry, statuses: &[ShardStatus]) {
    let has_ranges = |status: &&ShardStatus| !status.ranges.is_empty();
    if !statuses.iter().any(|status| has_ranges(&status)) {
        return;
    }
    let shard = |status: &ShardStatus| ("shard", status.shard.clone());
    let help = "Transactions by what became of them";
    by_label(
        registry,
        statuses,
        ("dunlin_txns", help, "outcome"),
        &OUTCOMES,
    );
    let help = "Refused attempts at transactions, by cause";
    by_label(
        registry,
        statuses,
        ("dunlin_txn_refusals", help, "cause"),
        &CAUSES,
    );
    for (name, help, read) in COUNTS {
        let family = Family::<Labels, Counter<u64, AtomicU64>>::default();
        for status in statuses {
            let labels = vec![shard(status)];
            family.get_or_create(&labels).inc_by(read(&status.txns));
        }
        registry.register(name, help, family);
    }
    for (name, help, read) in GAUGES {
        let family = Family::<Labels, Gauge<u64, AtomicU64>>::default();
        for status in statuses {
            let labels = vec![shard(status)];
            family.get_or_create(&labels).set(read(&status.txns));
        }
        registry.register(name, help, family);
    }
}

/// What each replica tells of itself.
pub(super) fn of_ranges(registry: &mut Registry, statuses: &[ShardStatus]) {
    let ranges: Vec<&RangeStatus> = statuses.iter().flat_map(|status| &status.ranges).collect();
    for (name, help, read) in FIGURES {
        let family = Family::<Labels, Gauge<u64, AtomicU64>>::default();
        for range in &ranges {
            let labels = vec![
                ("shard", range.at.clone()),
                ("keyspace", range.keyspace.clone()),
                ("range", range.range.to_string()),
            ];
            family.get_or_create(&labels).set(read(range));
        }
        registry.register(name, help, family);
    }
}

/// A counter of each shard, with one more label.
fn by_label(
    registry: &mut Registry,
    statuses: &[ShardStatus],
    (name, help, label): (&str, &str, &'static str),
    values: &[(&str, ReadTxns)],
) {
    let family = Family::<Labels, Counter<u64, AtomicU64>>::default();
    for status in statuses {
        for (value, read) in values {
            let shard = ("shard", status.shard.clone());
            let labels = vec![shard, (label, (*value).to_owned())];
            family.get_or_create(&labels).inc_by(read(&status.txns));
        }
    }
    registry.register(name, help, family);
}
