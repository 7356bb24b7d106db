//! How views are doing, asked of all shards that have a part of them.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_metadata::ViewRecord;
use dunlin_node::Services;
use dunlin_proto::ShardAddress;
use dunlin_proto::api::{View, ViewAtShard};
use futures_util::future::join_all;

use crate::plug::{AtShard, NUMBER, ask_status};

const ASK_TIMEOUT: Duration = Duration::from_secs(2);

/// The shards that hold a part of a keyspace.
pub(crate) fn holders(services: &Services, keyspace: u32) -> Vec<ShardAddress> {
    let count = services.partition_count(keyspace).unwrap_or(0);
    let all = (0..count).flat_map(|partition| services.replicas(keyspace, partition));
    let mut holders: Vec<ShardAddress> = all.collect();
    holders.sort_unstable();
    holders.dedup();
    holders
}

/// Asks all how a view is doing.
pub(crate) async fn of(services: &Rc<Services>, keyspace: u32, view: &ViewRecord) -> View {
    let holders = holders(services, keyspace);
    let asked = holders
        .iter()
        .map(|at| at_shard(services, *at, keyspace, view.id));
    let mut told = View {
        name: view.name.clone(),
        map: view.map.clone(),
        reduce: view.reduce.clone(),
        created_ms: view.created_ms,
        takes_over: view.before.is_some(),
        held_back: None,
        is_whole: true,
        built: 1.0,
        left_ms: None,
        shards: Vec::new(),
        unreachable: Vec::new(),
    };
    let answers = join_all(asked).await;
    for (at, answer) in holders.iter().zip(answers) {
        match answer {
            None => told.unreachable.push(services.label_of(*at)),
            // It has not heard of it yet.
            Some(None) => {
                told.is_whole = false;
                told.built = 0.0;
            }
            Some(Some(status)) => {
                let is_whole = status.whole == status.partitions && status.partitions > 0;
                told.is_whole &= is_whole && status.error.is_none();
                told.built = told.built.min(status.built);
                told.left_ms = told.left_ms.max(status.left_ms);
                told.shards.push(status);
            }
        }
    }
    told.is_whole &= !told.shards.is_empty();
    if told.is_whole && view.before.is_some() && !view.force {
        told.held_back = held_back(&told.shards);
    }
    told
}

/// Why an index does not take the place of the one before although it is whole: its function is of no use.
fn held_back(shards: &[ViewAtShard]) -> Option<String> {
    let documents: u64 = shards.iter().map(|shard| shard.documents).sum();
    let failed: u64 = shards.iter().map(|shard| shard.failed).max()?;
    let first = shards.iter().find_map(|shard| shard.skipped.first());
    let reason = first.map(|skipped| format!(", as {}: {}", skipped.id, skipped.reason));
    let is_useless = documents == 0 && failed > 0;
    is_useless.then(|| {
        format!(
            "the new map function fails for every document{}; the view answers as before: correct the function, or change the view with force",
            reason.unwrap_or_default()
        )
    })
}

/// None where it does not answer, none within where it does not know the view.
async fn at_shard(
    services: &Rc<Services>,
    at: ShardAddress,
    keyspace: u32,
    view: u32,
) -> Option<Option<ViewAtShard>> {
    if at == services.shard().address() {
        let view = AtShard::of(services).and_then(|own| own.view(keyspace, view));
        return Some(view.map(|view| view.status(services)));
    }
    let body = ask_status(keyspace, view);
    let answer = services.ask(at, NUMBER, body, ASK_TIMEOUT).await;
    serde_json::from_slice(&answer.ok()?).ok()
}

/// The answer to who asks.
pub(crate) fn encode(status: Option<&ViewAtShard>) -> Bytes {
    // Nothing in it cannot be written.
    serde_json::to_vec(&status).unwrap_or_default().into()
}
