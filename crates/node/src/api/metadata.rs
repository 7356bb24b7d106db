//! What this node knows of the metadata, whole: what `dunlin metadata restore` puts a lost store
//! back from.

use std::collections::BTreeMap;
use std::rc::Rc;

use dunlin_metadata::{Access, Report};
use dunlin_proto::ShardAddress;
use hyper::{Method, StatusCode};

use super::access::audit::Done;
use super::error::Rejected;
use super::params::Params;
use super::reply::{self, Reply};
use super::rules::asks_for_users;
use crate::shard::Shard;

/// `/v1/metadata`.
pub(super) async fn metadata(
    shard: Rc<Shard>,
    method: &Method,
    params: Params,
) -> Result<Reply, Rejected> {
    if params.get("users").is_some_and(|users| users != "true") {
        return Err(Rejected::bad("users is true, or left out"));
    }
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Err(Rejected::method());
    }
    let node = shard.address().node;
    let own: Vec<ShardAddress> = (0..shard.config().shards)
        .map(|number| ShardAddress {
            node,
            shard: number,
        })
        .collect();
    let mut incarnations: BTreeMap<u16, u32> = BTreeMap::new();
    let mut keyspace = 0;
    for (address, status) in shard.statuses(&own).await {
        let status = status.ok_or_else(|| {
            let line = format!("shard {} of this node does not answer", address.shard);
            Rejected::new(StatusCode::SERVICE_UNAVAILABLE, line)
        })?;
        keyspace = keyspace.max(status.keyspace_max);
        for (node, incarnation) in status.incarnations {
            let known = incarnations.entry(node).or_default();
            *known = incarnation.max(*known);
        }
    }
    let mut topology = (**shard.metadata().topology().borrow()).clone();
    let has_users = asks_for_users(&params);
    if !has_users {
        topology.access = Access::default();
    }
    let problems = shard.metadata().problems().borrow().clone();
    let report = Report {
        node: shard.config().name.clone(),
        topology,
        problems: (*problems).clone(),
        incarnations,
        keyspace,
        has_users,
    };
    let mut reply = reply::json(StatusCode::OK, &report);
    if has_users {
        let what = "tell the users with their hashes".to_owned();
        reply.extensions_mut().insert(Done(what));
    }
    Ok(reply)
}
