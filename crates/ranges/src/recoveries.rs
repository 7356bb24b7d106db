//! `/v1/ranges/KEYSPACE/NUMBER/recovery`: a range that has lost its majority begins again with one replica.

use std::rc::Rc;
use std::time::Duration;

use dunlin_metadata::{Keyspace, RangePlace, RangeRecord, RangeReplica, Recover};
use dunlin_node::Services;
use dunlin_node::http::{Answer, Ask, Rejected, json};
use dunlin_node::plug::ORACLE_KEYSPACE;
use dunlin_proto::ShardAddress;
use hyper::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::group::range_id;
use crate::ranges::AtShard;
use crate::recover::{Basis, Keep, Refusal, Survey, best, lost, recover};
use crate::survey::{Holding, encode_request};
use crate::wire::NUMBER;

/// How long a shard may take to answer.
const WITHIN: Duration = Duration::from_secs(3);
/// How long the answers of shards that have just started are waited for, and the pause between two requests.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(100);

/// What an operator says.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wish {
    /// Name of the node whose replica is kept.
    #[serde(default)]
    keep: Option<String>,
    /// Whether the range begins anew, without any data.
    #[serde(default)]
    new: bool,
    /// Whether acknowledged writes may be lost.
    #[serde(default)]
    accept_data_loss: bool,
}

fn parse(body: &[u8]) -> Result<Wish, Rejected> {
    let wish: Wish = serde_json::from_slice(body).map_err(|_| {
        Rejected::bad(
            "the body is neither {\"keep\": NODE, \"accept_data_loss\": true} nor {\"new\": true, \"accept_data_loss\": true}",
        )
    })?;
    if wish.keep.is_some() == wish.new {
        return Err(Rejected::bad("name either a node to keep, or new"));
    }
    if !wish.accept_data_loss {
        return Err(Rejected::bad(
            "writes that were acknowledged may be lost: nothing is done without accept_data_loss",
        ));
    }
    Ok(wish)
}

/// What this shard holds, once log and store are open.
type Own = Box<dyn Fn() -> Option<Rc<AtShard>>>;

/// Lists the remaining replicas of a range, or recovers it.
pub(crate) async fn answer(
    services: &Rc<Services>,
    own: Own,
    ask: Ask,
) -> Result<Answer, Rejected> {
    let [_, name, number, _] = &ask.parts[..] else {
        return Err(Rejected::bad("there is no such path"));
    };
    let number = number
        .parse()
        .map_err(|_| Rejected::bad(format!("{number} is not a number of a range")))?;
    let wish = match ask.method {
        Method::POST => Some(parse(&ask.body)?),
        _ => None,
    };
    let keyspace = services.transactional_named(name);
    let range = (keyspace.as_ref()).and_then(|keyspace| keyspace.range(number));
    let Some((keyspace, range)) = keyspace.as_ref().zip(range) else {
        let line = format!("there is no range {name}/{number}: see dunlin range list");
        return Err(Rejected::new(StatusCode::NOT_FOUND, line));
    };
    let survey = survey(services, &own, range_id(keyspace.id, number.into())).await;
    match wish {
        None => Ok(json(StatusCode::OK, &report(services, &survey))),
        Some(wish) => begin_again(services, (keyspace, range), &survey, &wish).await,
    }
}

async fn begin_again(
    services: &Rc<Services>,
    (keyspace, range): (&Keyspace, &RangeRecord),
    survey: &Survey,
    wish: &Wish,
) -> Result<Answer, Rejected> {
    let refused = |why: String| Rejected::new(StatusCode::CONFLICT, why);
    let keep = match &wish.keep {
        Some(name) => Keep::Node(
            (services.node_named(name))
                .ok_or_else(|| refused(format!("there is no node {name}: see dunlin node list")))?,
        ),
        None => Keep::New,
    };
    let basis = recover(survey, keep).map_err(|why| refused(line(services, why)))?;
    let keep = kept(services, range, &basis)
        .ok_or_else(|| refused("no node may hold the new replica".to_owned()))?;
    let gone = services.all_shards().into_iter();
    let gone = gone.filter(|(_, is_gone)| *is_gone).map(|(at, _)| at.node);
    let now_ms = services.now_ms();
    let by = Recover {
        keep,
        config: basis.config,
        next: basis.next,
        recorded: range.config,
        gone: gone.collect(),
        at_ms: now_ms,
        floor_ms: floor_ms(&keyspace.name, now_ms, services.clock_bound_ms()),
    };
    let after = services
        .recover_range(&keyspace.name, range.number, &by)
        .await?;
    let config = after.range(range.number).map_or(0, |range| range.config);
    let at = ShardAddress {
        node: keep.node,
        shard: keep.shard,
    };
    let answer = json!({ "config": config, "at": services.label_of(at) });
    Ok(json(StatusCode::ACCEPTED, &answer))
}

/// No timestamp below may be given: the clock of the former leader of the oracle may have been ahead by the bound, and its
/// timestamps by the same. Other ranges begin above a timestamp of the oracle, as under each new leader: a floor of their own
/// would take all timestamps ahead of the clocks.
fn floor_ms(keyspace: &str, now_ms: u64, bound_ms: u64) -> u64 {
    if keyspace == ORACLE_KEYSPACE {
        now_ms + 2 * bound_ms
    } else {
        0
    }
}

/// The replica that is kept. Where none is, the place of the new one: the first of the target that may hold it.
fn kept(services: &Services, range: &RangeRecord, basis: &Basis) -> Option<RangeReplica> {
    let replica = |id, at: ShardAddress, directory| RangeReplica {
        id,
        node: at.node,
        shard: at.shard,
        directory,
    };
    if let Some((at, id, directory)) = basis.keep {
        return Some(replica(id, at, Some(directory)));
    }
    let all = services.all_shards();
    let lives = |place: &&RangePlace| {
        let is_it = |at: ShardAddress| (at.node, at.shard) == (place.node, place.shard);
        all.iter().any(|(at, is_gone)| is_it(*at) && !is_gone)
    };
    let place = range.target.iter().find(lives)?;
    let (node, shard) = (place.node, place.shard);
    Some(replica(0, ShardAddress { node, shard }, None))
}

/// Requests an answer of all shards but those of nodes that are gone, again where they have just started.
async fn survey(services: &Rc<Services>, own: &Own, group: u64) -> Survey {
    let end = Instant::now() + PATIENCE;
    let shards = services.all_shards().into_iter();
    let shards = shards.filter(|(_, is_gone)| !is_gone);
    let mut survey: Survey = shards.map(|(at, _)| (at, Holding::Unknown)).collect();
    loop {
        for (at, holding) in &mut survey {
            if *holding == Holding::Unknown && can_answer(services, *at) {
                *holding = holding_at(services, own, *at, group).await;
            }
        }
        let waits = survey
            .iter()
            .any(|(at, holding)| *holding == Holding::Unknown && can_answer(services, *at));
        if !waits || Instant::now() >= end {
            return survey;
        }
        sleep(PAUSE).await;
    }
}

fn can_answer(services: &Services, at: ShardAddress) -> bool {
    at == services.shard().address() || services.is_reachable(at)
}

async fn holding_at(services: &Rc<Services>, own: &Own, at: ShardAddress, group: u64) -> Holding {
    if at == services.shard().address() {
        return own().map_or(Holding::Unknown, |own| own.survey(group));
    }
    let answer = services.ask(at, NUMBER, encode_request(group), WITHIN);
    answer.await.map_or(Holding::Unknown, Holding::decode)
}

/// The remaining replicas of a range, for operators and scripts.
fn report(services: &Services, survey: &Survey) -> Value {
    let replicas = survey.iter().filter_map(|(at, holding)| {
        let at = services.label_of(*at);
        Some(match holding {
            Holding::Nothing => return None,
            Holding::Unknown => json!({ "at": at, "state": "no answer" }),
            Holding::Empty { id, .. } => json!({ "at": at, "state": "empty", "id": id }),
            Holding::Replica(replica) => json!({
                "at": at,
                "state": match (replica.leads, replica.votes) {
                    (true, _) => "leader",
                    (false, true) => "voter",
                    (false, false) => "silent",
                },
                "id": replica.id,
                "term": replica.last.term,
                "last": replica.last.index,
                "applied": replica.applied,
                "config": replica.descriptor.config,
            }),
        })
    });
    let refused = lost(survey).err().map(|why| line(services, why));
    let best = best(survey).map(|at| services.node_name(at.node));
    json!({ "replicas": replicas.collect::<Vec<Value>>(), "keep": best, "refused": refused })
}

/// A refusal, for people.
fn line(services: &Services, why: Refusal) -> String {
    let label = |at: ShardAddress| services.label_of(at);
    match why {
        Refusal::NoAnswer(at) => format!(
            "{} does not say what it holds: start its node, or declare it dead with dunlin node remove",
            label(at)
        ),
        Refusal::Led(at) => format!(
            "{} leads it, or did a moment ago: nothing is to be recovered as long as it does",
            label(at)
        ),
        Refusal::CanElect(at) => format!(
            "{} and others that are left are a majority, and elect a leader by themselves: see dunlin range list",
            label(at)
        ),
        Refusal::NotThere => "that node has no replica of it with data".to_owned(),
        Refusal::HasData(at) => format!(
            "{} has data of it: keep that, or empty that node's directory first",
            label(at)
        ),
    }
}

#[cfg(test)]
#[path = "recoveries_tests.rs"]
mod tests;
