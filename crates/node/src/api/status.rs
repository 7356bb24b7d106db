//! The whole cluster's state, gathered from every shard.

use std::rc::Rc;

use futures_util::future::join_all;
use hyper::StatusCode;
use serde_json::{Value, json};

use super::error::Rejected;
use super::reply::{self, Reply};
use crate::limits::CALL_TIMEOUT;
use crate::message::{Request, Response};
use crate::placement::ShardAddress;
use crate::shard::{Shard, ShardStatus};

/// `/v1/status`.
pub(super) async fn status(shard: Rc<Shard>) -> Result<Reply, Rejected> {
    let placement = shard.placement();
    let addresses: Vec<ShardAddress> = placement.shards().collect();
    let statuses = gather(&shard, &addresses).await;
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
    let topology = shard.metadata.topology().borrow().clone();
    let problems = shard.metadata.problems().borrow().clone();
    let shards: Vec<&ShardStatus> = statuses.iter().filter_map(|(_, s)| s.as_ref()).collect();
    let links: Vec<_> = shards.iter().flat_map(|s| &s.links).collect();
    let shards: Vec<Value> = shards
        .iter()
        .map(|s| {
            json!({
                "shard": s.shard, "trouble": s.trouble, "refilling": s.refilling, "refill": s.refill,
                "partitions": s.partitions, "writes": s.writes, "reads": s.reads,
                "keys": s.store_keys, "store_bytes": s.store_bytes,
                "memtable_bytes": s.memtable_bytes, "log_records": s.log_records,
                "log_syncs": s.log_syncs, "apply_backlog": s.apply_backlog,
                "refused_stamps": s.refused_stamps, "refused_entries": s.refused_entries,
                "equal_stamps": s.equal_stamps,
            })
        })
        .collect();
    Ok(reply::json(
        StatusCode::OK,
        &json!({
            "node": shard.config.name, "topology_revision": placement.revision,
            "cluster": topology.cluster, "problems": *problems,
            "members": super::members::describe(&shard).await,
            "nodes": nodes, "keyspaces": topology.keyspaces,
            "dropped": topology.dropped, "shards": shards, "links": links,
        }),
    ))
}

/// Asks shards for their status, all at once; `None` for those that do not answer.
pub(super) async fn gather(
    shard: &Rc<Shard>,
    addresses: &[ShardAddress],
) -> Vec<(ShardAddress, Option<ShardStatus>)> {
    join_all(addresses.iter().map(|address| async move {
        if *address == shard.address() {
            return (*address, Some(shard.status()));
        }
        let Some(peer) = shard.peer(*address) else {
            return (*address, None);
        };
        let answer = peer.caller.call(Request::Status, CALL_TIMEOUT).await;
        let status = match answer {
            Ok(Response::Status(json)) => serde_json::from_slice(&json).ok(),
            _ => None,
        };
        (*address, status)
    }))
    .await
}
