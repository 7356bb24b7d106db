//! Whether this node lives, and whether clients may be sent to it.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use dunlin_metadata::{ALL, Role};
use dunlin_proto::{Request, Response, ShardAddress};
use futures_util::future::join_all;
use hyper::StatusCode;
use serde_json::json;

use super::access::Asker;
use super::reply::{self, Reply};
use crate::limits::CALL_TIMEOUT;
use crate::ready::{Lack, without_majority};
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
/// With `all` the answer names troubles of other nodes as well, which do not change the status.
pub(super) async fn ready(shard: Rc<Shard>, asker: &Asker, all: bool) -> Reply {
    let own = shard.address();
    let mut lacks = shard.lacks().await;
    let mut problems = problems(&shard);
    let placement = shard.placement();
    let others: Vec<ShardAddress> = placement
        .shards()
        .filter(|at| *at != own && (at.node == own.node || all && shard.is_reachable(*at)))
        .collect();
    let calls = others.iter().map(|at| missing_at(&shard, *at));
    let answers: Vec<_> = others.iter().copied().zip(join_all(calls).await).collect();
    if all {
        let answered = answers
            .iter()
            .filter_map(|(at, found)| Some((*at, &**found.as_ref()?)));
        problems.extend(unserved(&shard, answered.chain([(own, &*lacks)])));
    }
    for (at, found) in answers {
        let silent = || vec![Lack::new(shard.label_of(at), "it does not answer")];
        let found = found.unwrap_or_else(silent);
        if at.node == own.node {
            lacks.extend(found);
        } else {
            // Of itself: with whom it is not connected is its own affair.
            let label = shard.label_of(at);
            let found = found.into_iter().filter(|lack| lack.shard == label);
            problems.extend(found.map(|lack| format!("{label}: {}", lack.why)));
        }
    }
    let name = &shard.config().name;
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
    if txns.known_ahead_ms > bound_ms {
        problems.push(format!(
            "timestamps of transactions are {} s ahead of this node's clock, as its clocks were: transactions go on, and clocks reach them by themselves; what waits for that is in the manual of transactional keyspaces, Time",
            txns.known_ahead_ms / 1_000
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

/// Ranges of transactional keyspaces that nobody can read or write, by what shards lack.
fn unserved<'a>(
    shard: &Shard,
    answers: impl Iterator<Item = (ShardAddress, &'a [Lack])>,
) -> Vec<String> {
    let not_working: BTreeMap<ShardAddress, BTreeSet<&str>> = answers
        .map(|(at, missing)| {
            let ranges = missing.iter().flat_map(|lack| &lack.ranges);
            (at, ranges.map(String::as_str).collect())
        })
        .collect();
    let works = |range: &str, at: ShardAddress| {
        let ranges = not_working.get(&at);
        ranges.is_some_and(|ranges| !ranges.contains(range))
    };
    let placement = shard.placement();
    let keyspaces = placement.transactional().values();
    let keyspaces = keyspaces.filter(|k| placement.transactional_named(&k.name).is_some());
    let ranges = keyspaces.flat_map(|keyspace| {
        keyspace.ranges.iter().map(|range| {
            let label = format!("{}/{}", keyspace.name, range.number);
            let at = range.replicas.iter().map(|replica| ShardAddress {
                node: replica.node,
                shard: replica.shard,
            });
            (label, at.collect())
        })
    });
    let named = without_majority(ranges, works).into_iter().map(|(range, working, all)| {
        format!(
            "range {range} cannot be read or written: {working} of its {all} replicas work and can be reached; start the nodes that are away, or see dunlin range recover"
        )
    });
    named.collect()
}

/// What another shard says it lacks.
async fn missing_at(shard: &Rc<Shard>, at: ShardAddress) -> Option<Vec<Lack>> {
    let peer = shard.peer(at)?;
    match peer.caller.call(Request::Ready, CALL_TIMEOUT).await {
        Ok(Response::Ready(json)) => serde_json::from_slice(&json).ok(),
        _ => None,
    }
}
