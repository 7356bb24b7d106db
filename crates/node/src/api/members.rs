//! The nodes that hold data: which they are, adding, draining and removing, and how far that is.

use std::rc::Rc;

use dunlin_metadata::{MetadataError, Phase};
use hyper::{Method, Request, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::access::audit::Done;
use super::attempt::in_time;
use super::body::read_body;
use super::error::Rejected;
use super::reply::{self, Reply};
use super::upload::Upload;
use crate::moves::waits_for;
use crate::placement::Placement;
use crate::services::Services;
use crate::shard::{Arrivals, Shard};

/// Largest description of a change, in bytes.
const BODY_BYTES: usize = 64 << 10;

/// What a client wants changed, by the nodes' names.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Wanted {
    /// Nodes that are to hold data.
    add: Vec<String>,
    /// Living nodes that are to give theirs away.
    drain: Vec<String>,
    /// Nodes that are gone for good.
    remove: Vec<String>,
}

/// `/v1/members`.
pub(super) async fn members(
    services: &Services,
    arrivals: &Arrivals,
    request: Request<Upload>,
) -> Result<Reply, Rejected> {
    let shard = &services.shard;
    match *request.method() {
        Method::GET | Method::HEAD => Ok(reply::json(StatusCode::OK, &describe(services).await)),
        Method::POST => {
            let received = read_body(&shard.front().doors, request.into_body(), BODY_BYTES).await?;
            let body = received.bytes;
            let wanted = serde_json::from_slice(&body).map_err(|error| {
                Rejected::bad(format!("the body does not describe a change: {error}"))
            })?;
            in_time(arrivals)?;
            let what = in_words(&wanted);
            change(services, wanted).await?;
            let mut reply = reply::json(StatusCode::ACCEPTED, &describe(services).await);
            reply.extensions_mut().insert(Done(what));
            Ok(reply)
        }
        _ => Err(Rejected::method()),
    }
}

/// `/v1/members/change`: DELETE gives the change under way up.
pub(super) async fn cancel(
    shard: Rc<Shard>,
    arrivals: &Arrivals,
    method: &Method,
) -> Result<Reply, Rejected> {
    match *method {
        Method::DELETE => {
            in_time(arrivals)?;
            shard.metadata().cancel_change().await?;
            Ok(reply::empty(StatusCode::NO_CONTENT))
        }
        _ => Err(Rejected::method()),
    }
}

fn in_words(wanted: &Wanted) -> String {
    let kinds = [
        ("add", &wanted.add),
        ("drain", &wanted.drain),
        ("remove", &wanted.remove),
    ];
    let named = kinds.iter().filter(|(_, nodes)| !nodes.is_empty());
    let words = named.map(|(kind, nodes)| format!("{kind} {}", nodes.join(", ")));
    words.collect::<Vec<_>>().join("; ")
}

async fn change(services: &Services, wanted: Wanted) -> Result<(), Rejected> {
    let shard = &services.shard;
    let topology = shard.metadata().topology().borrow().clone();
    let ids = |names: &[String]| -> Result<Vec<u16>, Rejected> {
        let id = |name: &String| {
            let node = topology.node_named(name);
            node.map(|node| node.id).ok_or_else(|| {
                let line = format!("there is no node {name}: start it first");
                Rejected::new(StatusCode::NOT_FOUND, line)
            })
        };
        names.iter().map(id).collect()
    };
    let (add, drain, remove) = (ids(&wanted.add)?, ids(&wanted.drain)?, ids(&wanted.remove)?);
    if add.is_empty() && drain.is_empty() && remove.is_empty() {
        return Err(Rejected::bad("no node is named under add, drain or remove"));
    }
    let states = services.moves.states().await;
    let answers = |id: &u16| *id == shard.address().node || states.keys().any(|s| s.node == *id);
    let members = &topology.members.ids;
    for (id, name) in add.iter().zip(&wanted.add) {
        if members.contains(id) {
            return Err(conflict(format!("{name} holds data already")));
        }
        if !answers(id) {
            return Err(conflict(format!("{name} does not answer: start it first")));
        }
    }
    for (id, name) in drain.iter().zip(&wanted.drain) {
        if !members.contains(id) {
            return Err(conflict(format!("{name} holds no data")));
        }
        if !answers(id) {
            return Err(conflict(format!(
                "{name} does not answer: start it, or remove it if it is gone for good"
            )));
        }
    }
    for (id, name) in remove.iter().zip(&wanted.remove) {
        if answers(id) {
            return Err(conflict(format!(
                "{name} answers: drain it, then stop it first"
            )));
        }
    }
    if topology.members.change.is_some() && !remove.is_empty() && add.is_empty() && drain.is_empty()
    {
        for id in remove {
            shard.metadata().bury_in_change(id).await?;
        }
        return Ok(());
    }
    let leaves = |id: &u16| drain.contains(id) || remove.contains(id);
    let mut to: Vec<u16> = members.iter().copied().filter(|id| !leaves(id)).collect();
    to.extend(&add);
    let (gone, spare): (Vec<u16>, Vec<u16>) = remove.iter().partition(|id| members.contains(id));
    if add.is_empty() && drain.is_empty() && gone.is_empty() {
        for name in &wanted.remove {
            shard.metadata().forget_node(name).await?;
        }
        return Ok(());
    }
    // Nobody waits for spare nodes that are gone either, and they are forgotten with the others.
    let dead = gone.into_iter().chain(spare).collect();
    shard.metadata().begin_change(to, dead).await?;
    Ok(())
}

fn conflict(line: String) -> Rejected {
    Rejected::new(StatusCode::CONFLICT, line)
}

/// The members, and how far a change of them is.
pub(super) async fn describe(services: &Services) -> Value {
    let shard = &services.shard;
    let placement = shard.placement();
    let topology = shard.metadata().topology().borrow().clone();
    let names =
        |ids: &[u16]| -> Vec<String> { ids.iter().map(|id| name(&placement, *id)).collect() };
    let members = &topology.members.ids;
    let nodes = topology.nodes.iter().map(|node| node.id);
    let spare: Vec<u16> = nodes.filter(|id| !members.contains(id)).collect();
    let change = match &topology.members.change {
        None => None,
        Some(change) => {
            let states = services.moves.states().await;
            let waits: Vec<String> = waits_for(change, &services.moves.concerned(), &states)
                .iter()
                .map(|s| format!("{}/{}", name(&placement, s.node), s.shard))
                .collect();
            let outside = match change.phase {
                Phase::Copy => services.moves.ranges_outside(&change.to),
                _ => Vec::new(),
            };
            let only_in = |a: &[u16], b: &[u16]| -> Vec<u16> {
                a.iter().copied().filter(|id| !b.contains(id)).collect()
            };
            Some(json!({
                "id": change.id, "phase": change.phase,
                "adds": names(&only_in(&change.to, members)),
                "takes_out": names(&only_in(members, &change.to)),
                "dead": names(&change.dead),
                "waits_for": waits, "ranges": outside,
                "shards": states.into_values().collect::<Vec<_>>(),
            }))
        }
    };
    json!({
        "members": names(members), "spare": names(&spare),
        "changes": topology.members.changes, "change": change,
    })
}

fn name(placement: &Placement, id: u16) -> String {
    let node = placement.nodes.get(&id);
    node.map_or_else(|| format!("node {id}"), |node| node.name.clone())
}

/// The status of what the metadata store refuses to do with members.
pub(super) fn status_of(error: &MetadataError) -> Option<StatusCode> {
    match error {
        MetadataError::UnknownNode { .. } => Some(StatusCode::NOT_FOUND),
        MetadataError::SameMembers
        | MetadataError::TooFewNodes { .. }
        | MetadataError::TooFewForRange { .. }
        | MetadataError::RangeOutside { .. }
        | MetadataError::NoTarget { .. }
        | MetadataError::ChangeUnderWay { .. }
        | MetadataError::NoChange
        | MetadataError::TooLate { .. }
        | MetadataError::NotYet { .. }
        | MetadataError::Needed { .. }
        | MetadataError::IsMember { .. }
        | MetadataError::InChange { .. } => Some(StatusCode::CONFLICT),
        _ => None,
    }
}
