//! `/metrics`: figures of this node's shards and of its process, for Prometheus.

mod exposition;
mod figures;
mod node;
mod process;
mod procfs;
mod ranges;
mod requests;
mod shards;
mod streams;
mod views;

use std::rc::Rc;
use std::sync::atomic::AtomicU64;

use dunlin_proto::ShardAddress;
use exposition::Exposition;
use hyper::StatusCode;
use hyper::header::HeaderMap;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::reply::{self, Reply};
use crate::shard::{Shard, ShardStatus};

/// `/metrics`.
pub(super) async fn metrics(shard: Rc<Shard>, headers: &HeaderMap) -> Reply {
    let form = Exposition::wanted(headers);
    let addresses: Vec<ShardAddress> = (0..shard.config().shards)
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
    process::of_process(&mut registry, &shard.front().doors, &shard.front().logins);
    node::of_node(&mut registry, &shard);
    requests::of_requests(
        &mut registry,
        shard.front().meters.of_node(&shard.config().name),
    );
    shards::of_shards(&mut registry, &statuses);
    streams::of_streams(&mut registry, &statuses);
    views::of_views(&mut registry, &statuses);
    figures::of_figures(&mut registry, &statuses);
    ranges::of_ranges(&mut registry, &statuses);
    ranges::of_txns(&mut registry, &statuses);
    match form.write(&registry) {
        Ok(text) => reply::typed(reply::bytes(StatusCode::OK, text), form.content_type()),
        Err(error) => reply::text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

/// Names, each with its help and its figure now; what is not known is left out.
fn gauges(
    registry: &mut Registry,
    figures: impl IntoIterator<Item = (&'static str, &'static str, Option<u64>)>,
) {
    for (name, help, figure) in figures {
        if let Some(figure) = figure {
            let gauge = Gauge::<u64, AtomicU64>::default();
            gauge.set(figure);
            registry.register(name, help, gauge);
        }
    }
}
