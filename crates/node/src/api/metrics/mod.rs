//! `/metrics`: figures of this node's shards and of its process, for Prometheus.

mod exposition;
mod process;
mod procfs;
mod shards;

use std::rc::Rc;

use hyper::StatusCode;
use hyper::header::HeaderMap;
use prometheus_client::registry::Registry;

use super::reply::{self, Reply};
use crate::placement::ShardAddress;
use crate::shard::{Shard, ShardStatus};
use exposition::Exposition;

/// `/metrics`.
pub(super) async fn metrics(shard: Rc<Shard>, headers: &HeaderMap) -> Reply {
    let form = Exposition::wanted(headers);
    let addresses: Vec<ShardAddress> = (0..shard.config.shards)
        .map(|number| ShardAddress {
            node: shard.address().node,
            shard: number,
        })
        .collect();
    let statuses: Vec<ShardStatus> = shard
        .statuses(&addresses)
        .await
        .into_iter()
        .filter_map(|(_, status)| status)
        .collect();
    let mut registry = Registry::default();
    process::of_process(&mut registry, &shard.doors);
    shards::of_shards(&mut registry, &statuses);
    match form.write(&registry) {
        Ok(text) => reply::typed(reply::bytes(StatusCode::OK, text), form.content_type()),
        Err(error) => reply::text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}
