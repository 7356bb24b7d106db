//! Whether this node lives, and whether clients may be sent to it.

use std::rc::Rc;

use dunlin_metadata::{ALL, Role};
use dunlin_proto::{Request, Response, ShardAddress};
use hyper::StatusCode;
use serde_json::json;

use super::access::Asker;
use super::reply::{self, Reply};
use crate::limits::CALL_TIMEOUT;
use crate::ready::Lack;
use crate::shard::Shard;

/// 200 as long as there is anybody to say it.
pub(super) fn live(shard: &Shard, asker: &Asker) -> Reply {
    let alive = if knows_all(asker) {
        json!({ "status": "alive", "node": shard.config().name })
    } else {
        json!({ "status": "alive" })
    };
    reply::json(StatusCode::OK, &alive)
}

/// 200 while all shards of the node serve, reach a majority of the members and are reached by them;
/// 503 with what is missing while not. What is wrong with the metadata is told in either case: data
/// is served by what is known of it.
///
/// Strangers are told the status alone, in a cluster that has users.
pub(super) async fn ready(shard: Rc<Shard>, asker: &Asker) -> Reply {
    let mut lacks = shard.lacks().await;
    let own = shard.address();
    let placement = shard.placement();
    let siblings = placement.shards().filter(|s| s.node == own.node);
    let siblings: Vec<ShardAddress> = siblings.filter(|s| *s != own).collect();
    for sibling in siblings {
        lacks.extend(lacks_of(&shard, sibling).await);
    }
    let name = &shard.config().name;
    let problems = problems(&shard);
    let Some(first) = lacks.first() else {
        let ok = if knows_all(asker) {
            json!({ "status": "ok", "node": name, "problems": problems })
        } else {
            json!({ "status": "ok" })
        };
        return reply::json(StatusCode::OK, &ok);
    };
    let is_failing = shard.trouble().is_some();
    let status = if is_failing { "failing" } else { "not ready" };
    if !knows_all(asker) {
        return reply::json(
            StatusCode::SERVICE_UNAVAILABLE,
            &json!({ "status": status }),
        );
    }
    let error = if is_failing {
        first.why.clone()
    } else {
        format!("{}: {}", first.shard, first.why)
    };
    let not = json!({
        "status": status, "node": name, "error": error, "missing": lacks, "problems": problems,
    });
    reply::json(StatusCode::SERVICE_UNAVAILABLE, &not)
}

fn knows_all(asker: &Asker) -> bool {
    asker.may(Role::Read, ALL)
}

/// What is wrong without keeping the shard from serving.
pub(super) fn problems(shard: &Shard) -> Vec<String> {
    let mut problems = shard.metadata().problems().borrow().to_vec();
    problems.extend(shard.strays());
    problems.extend(shard.damage());
    problems.extend(shard.flush_told());
    problems.extend(shard.drops_told());
    let (ranges, txns) = shard.ranges();
    let bound_ms = shard.clock().bound_ms();
    if txns.ahead_ms > bound_ms {
        problems.push(format!(
            "timestamps of transactions are {} s ahead of this node's clock, as its clocks were: transactions go on, and clocks reach them by themselves; what waits for that is in the manual of transactional keyspaces, Time",
            txns.ahead_ms / 1_000
        ));
    }
    let silent = ranges.into_iter().filter_map(|range| {
        let (at, keyspace, role) = (range.at, range.keyspace, range.role);
        let why = range.reason?;
        Some(format!("{at}: its replica of {keyspace} is {role}: {why}"))
    });
    problems.extend(silent);
    problems
}

/// What another shard of this node says it lacks.
async fn lacks_of(shard: &Rc<Shard>, sibling: ShardAddress) -> Vec<Lack> {
    let answer = match shard.peer(sibling) {
        Some(peer) => peer.caller.call(Request::Ready, CALL_TIMEOUT).await.ok(),
        None => None,
    };
    let told = match answer {
        Some(Response::Ready(json)) => serde_json::from_slice(&json).ok(),
        _ => None,
    };
    told.unwrap_or_else(|| {
        vec![Lack {
            shard: format!("{}/{}", shard.config().name, sibling.shard),
            why: "it does not answer".to_owned(),
        }]
    })
}
