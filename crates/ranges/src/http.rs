//! `/v1/txn`: a transaction in one request.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use dunlin_metadata::{Keyspace, Role};
use dunlin_node::http::{Answer, Ask, Judge, KEY_BYTES, Rejected, json, json_text, stream};
use dunlin_node::{Failure, Services};
use futures_util::stream::iter;
use hyper::StatusCode;
use hyper::body::Frame;

use crate::body::{self, Body, Write};
use crate::budget::Budget;
use crate::interactive_http;
use crate::keyspaces::Keyspaces;
use crate::limits::Limits;
use crate::one_range::Window;
use crate::one_shot;
use crate::outcome::Done;
use crate::plug::limits;
use crate::stamps::is_ahead;

/// Values of so many bytes go out at once.
const WHOLE_BYTES: usize = 64 << 10;

/// How far a client's clock may be ahead, in milliseconds.
const AHEAD_MS_MAX: u64 = 60_000;

/// Answers a request.
pub(crate) async fn answer(services: Rc<Services>, ask: Ask) -> Result<Answer, Rejected> {
    if ask.parts.len() > 1 {
        return interactive_http::answer(services, ask).await;
    }
    let body = parse(&ask.body, &limits(&services))?;
    let keyspaces = admitted(&services, &ask, &body)?;
    let window = Window {
        deadline: ask.deadline,
        floor: ask.floor,
    };
    carry_out(&services, &keyspaces, &body, window).await
}

fn parse(body: &[u8], limits: &Limits) -> Result<Body, Rejected> {
    let body = Body::parse(body, KEY_BYTES).map_err(Rejected::bad)?;
    let written = body.writes.iter().map(Write::size).sum();
    limits
        .admit(body.keys(), written)
        .map_err(|line| Rejected::new(StatusCode::PAYLOAD_TOO_LARGE, line))?;
    Ok(body)
}

async fn carry_out(
    services: &Rc<Services>,
    keyspaces: &Keyspaces,
    body: &Body,
    window: Window,
) -> Result<Answer, Rejected> {
    if let Some(id) = &body.id {
        check_id(services, id.ms).await?;
    }
    let done = one_shot::run(services, keyspaces, body, window).await;
    match done.map_err(|failure| unknown_or(failure, body))? {
        Done::Committed(version, reads, sums, budget) => {
            let pieces = body::pieces(version, reads, &sums);
            Ok(committed(services, pieces, budget))
        }
        Done::NotAdded((index, why)) => Err(Rejected::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            format!("writes[{index}]: nothing can be added: {why}; nothing happened"),
        )),
        Done::CommittedBefore(version) => Ok(json(StatusCode::OK, &body::repeated(version))),
        Done::NameTaken => Err(Rejected::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "another transaction has this id, with another body: nothing happened; give it an id of its own",
        )),
        Done::CheckFailed(number, found) => {
            let (place, _) = body.checks.get(number).ok_or(Failure::Busy)?;
            let failed = body::failed(number, place, found);
            Ok(json(StatusCode::PRECONDITION_FAILED, &failed))
        }
        Done::Conflict => Err(Rejected::new(
            StatusCode::CONFLICT,
            match body.id {
                Some(_) => {
                    "other transactions were in the way: nothing happened, nor will under this id; try again with another id"
                }
                None => "other transactions were in the way: nothing happened; try again",
            },
        )),
    }
}

/// A failure, with advice where it is not known whether the transaction happened.
fn unknown_or(failure: Failure, body: &Body) -> Rejected {
    let advice = match (&failure, &body.id) {
        (Failure::FateUnknown, Some(_)) => "send the very same body again: it happens once",
        (Failure::FateUnknown, None) => "read its keys before you send it again",
        _ => return failure.into(),
    };
    Rejected::new(
        StatusCode::GATEWAY_TIMEOUT,
        format!(
            "a range did not answer in time, so it is not known whether the transaction happened: {advice}"
        ),
    )
}

/// The answer with values: at once where they are small, else piece by piece, counted as memory until the last was taken.
fn committed(
    services: &Rc<Services>,
    pieces: impl Iterator<Item = String> + 'static,
    budget: Budget,
) -> Answer {
    let bytes = budget.bytes();
    if bytes <= WHOLE_BYTES {
        return json_text(pieces.collect::<String>());
    }
    let frames = pieces.map(move |piece| {
        let _held = &budget;
        Ok(Frame::data(piece.into()))
    });
    stream(services, "application/json", Box::pin(iter(frames)))
}

/// A name that is too old may have been forgotten; one from the future would be kept for too long.
///
/// # Errors
/// 400 for such a one.
pub(crate) async fn check_id(services: &Rc<Services>, id_ms: u64) -> Result<(), Rejected> {
    let now_ms = services.now_ms();
    let good_ms = limits(services).retention_ms() / 2;
    let is_old = id_ms.saturating_add(good_ms) < now_ms;
    if is_old || is_ahead(services, id_ms, AHEAD_MS_MAX).await? {
        return Err(Rejected::bad(format!(
            "the id begins with {id_ms} and it is {now_ms} now, in milliseconds since 1970: an id is good for {} s, half of txn retention",
            good_ms / 1_000
        )));
    }
    Ok(())
}

/// The keyspaces that a transaction names, if its asker may do with them what it does, before anything happens.
fn admitted(services: &Services, ask: &Ask, body: &Body) -> Result<Keyspaces, Rejected> {
    let written = body.writes.iter();
    let written: BTreeSet<&str> = written.map(|write| &*write.place.keyspace).collect();
    let named = body.keyspaces().into_iter();
    let named = named.map(|name| (name, written.contains(name)));
    // Who writes may read as well.
    let role = |is_written| if is_written { Role::Write } else { Role::Read };
    let named = named.map(|(name, is_written)| (name, role(is_written)));
    keyspaces_for(services, &ask.may_on, named)
}

/// Keyspaces, each with the first role that is named for it.
///
/// # Errors
/// As [`keyspace_with`].
pub(crate) fn keyspaces_for<'a>(
    services: &Services,
    may: &Judge,
    named: impl IntoIterator<Item = (&'a str, Role)>,
) -> Result<Keyspaces, Rejected> {
    let mut keyspaces = Keyspaces::new();
    for (name, role) in named {
        if !keyspaces.contains_key(name) {
            let keyspace = keyspace_with(services, may, name, role)?;
            keyspaces.insert(name.to_owned(), keyspace);
        }
    }
    Ok(keyspaces)
}

/// A keyspace, if it is transactional and the asker has a role on it.
///
/// # Errors
/// 403, 404, or 400 where it is a quorum keyspace, or not for users.
pub(crate) fn keyspace_for(
    services: &Services,
    ask: &Ask,
    name: &str,
    role: Role,
) -> Result<Arc<Keyspace>, Rejected> {
    keyspace_with(services, &ask.may_on, name, role)
}

/// The same of whoever this says of what he may.
///
/// # Errors
/// 403, 404, or 400 where it is a quorum keyspace, or not for users.
pub(crate) fn keyspace_with(
    services: &Services,
    may: &Judge,
    name: &str,
    role: Role,
) -> Result<Arc<Keyspace>, Rejected> {
    if !may(role, name) {
        let what = if role == Role::Read { "read" } else { "write" };
        return Err(Rejected::new(
            StatusCode::FORBIDDEN,
            format!("this user may not {what} keyspace {name}: nothing happened"),
        ));
    }
    match services.transactional_named(name) {
        Some(_) if name.starts_with('_') => {
            Err(Rejected::bad(format!("keyspace {name} is not for users")))
        }
        Some(keyspace) => Ok(keyspace),
        None if services.keyspace(name).is_some() => Err(Rejected::bad(format!(
            "keyspace {name} is not transactional: transactions are for keyspaces made with --mode transactional"
        ))),
        None => Err(Rejected::new(
            StatusCode::NOT_FOUND,
            format!("there is no keyspace {name}"),
        )),
    }
}
