//! The whole cluster's state, gathered from every shard.

use dunlin_proto::ShardAddress;
use hyper::StatusCode;
use serde_json::{Value, json};

use super::error::Rejected;
use super::reply::{self, Reply};
use crate::services::Services;
use crate::shard::ShardStatus;

/// `/v1/status`.
pub(super) async fn status(services: &Services) -> Result<Reply, Rejected> {
    let shard = &services.shard;
    let placement = shard.placement();
    let addresses: Vec<ShardAddress> = placement.shards().collect();
    let statuses = shard.statuses_with_keys(&addresses).await;
    let nodes: Vec<Value> = placement
        .nodes
        .values()
        .map(|node| {
            let alive = statuses
                .iter()
                .any(|(address, status)| address.node == node.id && status.is_some());
            json!({
                "name": node.name, "id": node.id, "http": node.http, "listen": node.listen,
                "shards": node.shards, "incarnation": node.incarnation, "alive": alive,
            })
        })
        .collect();
    let topology = shard.metadata().topology().borrow().clone();
    let problems = shard.metadata().problems().borrow().to_vec();
    let shards: Vec<&ShardStatus> = statuses.iter().filter_map(|(_, s)| s.as_ref()).collect();
    let followers: Vec<_> = shards.iter().flat_map(|s| &s.followers).collect();
    let streams: Vec<_> = shards.iter().flat_map(|s| &s.feeds.streams).collect();
    let views: Vec<_> = shards.iter().flat_map(|s| &s.feeds.views).collect();
    let ranges: Vec<_> = shards.iter().flat_map(|s| &s.ranges).collect();
    let shards: Vec<Value> = shards
        .iter()
        .map(|s| {
            let (keys, keys_estimated) = s.keys();
            json!({
                "shard": s.shard, "trouble": s.trouble, "refilling": s.refilling, "refill": s.refill,
                "partitions": s.partitions, "writes": s.writes, "reads": s.reads,
                "keys": keys, "keys_estimated": keys_estimated, "store_bytes": s.store_bytes,
                "memtable_bytes": s.memtable_bytes, "log_records": s.log_records,
                "log_syncs": s.log_syncs, "apply_backlog": s.apply_backlog,
                "refused_stamps": s.refused_stamps, "refused_entries": s.refused_entries,
                "equal_stamps": s.equal_stamps, "distrusts": s.distrusts,
                "backfills": s.backfills, "backfilled": s.backfilled,
                "backfilled_bytes": s.backfilled_bytes,
                "backfill_looked_bytes": s.backfill_looked_bytes,
                "backfilling": s.backfilling, "behind_ms": s.behind_ms,
                "catching_up": s.is_catching_up(), "slows": s.slows, "slowed": s.slowed,
                "moved": s.moved, "copied_again": s.copied_again,
                "log_bytes": s.log_segment_bytes, "pins": s.pins, "pins_cut": s.pins_cut,
            })
        })
        .collect();
    Ok(reply::json(
        StatusCode::OK,
        &json!({
            "node": shard.config().name, "topology_revision": placement.revision,
            "cluster": topology.cluster, "problems": problems,
            "members": super::members::describe(services).await,
            "nodes": nodes, "keyspaces": topology.keyspaces,
            "dropped": topology.dropped, "shards": shards, "followers": followers,
            "streams": streams, "views": views, "ranges": ranges,
        }),
    ))
}
