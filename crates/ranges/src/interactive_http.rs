//! `/v1/txn/...`: the steps of a transaction, from any node to the shard that keeps it.

use std::rc::Rc;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_entry::{Stamp, Version};
use dunlin_metadata::Role;
use dunlin_node::Services;
use dunlin_node::http::{
    Answer, Ask, KEY_BYTES, Params, Rejected, bounds, json, json_line, stream, value,
};
use dunlin_txn::ORIGIN;
use futures_util::stream::iter;
use hyper::body::Frame;
use hyper::{Method, StatusCode};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use serde_json::{Value, json};

use crate::body::{Place, check_key};
use crate::client::Client;
use crate::http::keyspace_for;
use crate::interactive::{begin, find, of_failure, step};
use crate::relay::relay_to;
use crate::step::{NO_ID, SCANNED, SCANNED_MAX, Step, StepReply, TxnId, Written, refused};
use crate::wire::NUMBER;
use crate::wire::{Malformed, STEP, encode_relay, get_bytes, put_bytes, put_within, within};

/// Bytes that are encoded in a query.
const OF_QUERY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'/');

/// Answers a request.
pub(crate) async fn answer(services: Rc<Services>, ask: Ask) -> Result<Answer, Rejected> {
    let parts: Vec<&str> = ask.parts.iter().map(String::as_str).collect();
    if let ["txn", "begin"] = parts[..] {
        may_begin(&services, &ask)?;
        let id = begin(&services, ask.client).await?;
        return Ok(json(StatusCode::CREATED, &json!({"id": id.to_string()})));
    }
    let id = parts.get(1).copied().unwrap_or_default();
    let id: TxnId = id.parse().map_err(|_| no_id())?;
    let wanted = step_of(&services, &ask, &parts[2..])?;
    let first = match ask.params.get("first") {
        Some(first) => Some(place_of(first)?),
        None => None,
    };
    let closes = matches!(wanted, Step::Commit(_));
    if let Some(first) = &first {
        let role = if closes { Role::Write } else { Role::Read };
        keyspace_for(&services, &ask, &first.keyspace, role)?;
    }
    let client = Client::before(&services, ask.deadline);
    let reply = match (ask_keeper(&client, id, &wanted).await, &first, &wanted) {
        (
            StepReply::Gone | StepReply::Away | StepReply::NoShard,
            Some(first),
            Step::Commit(_) | Step::Look,
        ) => {
            let found = find(&client, id, first, closes).await;
            found.unwrap_or_else(|failure| of_failure(&failure))
        }
        (StepReply::NoShard, _, _) => return Err(no_id()),
        (reply, _, _) => reply,
    };
    shown(&services, id, reply, &wanted)
}

fn no_id() -> Rejected {
    Rejected::new(StatusCode::NOT_FOUND, NO_ID)
}

/// Refuses to begin one for a user that may write nowhere, and a body, which would have no effect.
fn may_begin(services: &Services, ask: &Ask) -> Result<(), Rejected> {
    if !ask.body.is_empty() {
        return Err(Rejected::bad(
            "POST /v1/txn/begin takes no body: a transaction in one request is POST /v1/txn",
        ));
    }
    let may_write = writable(services, ask).next().is_some();
    if !may_write && !services.transactional().is_empty() {
        return Err(Rejected::new(
            StatusCode::FORBIDDEN,
            "this user may write no transactional keyspace: read keys by GET /v1/keyspaces/NAME/keys/KEY, or several by POST /v1/txn",
        ));
    }
    Ok(())
}

/// The transactional keyspaces that a request's user may write now.
fn writable(services: &Services, ask: &Ask) -> impl Iterator<Item = String> {
    let all = services.transactional().into_iter();
    let named = all.map(|keyspace| keyspace.name.clone());
    named.filter(|name| !name.starts_with('_') && (ask.may_on)(Role::Write, name))
}

/// What a request wants, if its asker may.
fn step_of(services: &Services, ask: &Ask, parts: &[&str]) -> Result<Step, Rejected> {
    let is_get = matches!(ask.method, Method::GET | Method::HEAD);
    match parts {
        [] => Ok(Step::Look),
        ["commit"] => Ok(Step::Commit(writable(services, ask).collect())),
        ["abort"] => Ok(Step::Abort),
        ["keyspaces", name, "keys"] => {
            keyspace_for(services, ask, name, Role::Read)?;
            let (start, end) = bounds(&ask.params);
            let limit = ask.params.number("limit")?.unwrap_or(SCANNED as u64);
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            if limit == 0 || limit > SCANNED_MAX {
                return Err(Rejected::bad(format!(
                    "limit must be from 1 to {SCANNED_MAX}"
                )));
            }
            Ok(Step::Scan {
                keyspace: (*name).into(),
                start,
                end,
                limit,
            })
        }
        ["keyspaces", name, "keys", rest @ ..] => {
            // Others wait for a lock: it is for those that may write.
            let is_locked = is_get && is_locked(&ask.params)?;
            let role = if is_get && !is_locked {
                Role::Read
            } else {
                Role::Write
            };
            keyspace_for(services, ask, name, role)?;
            let key = Bytes::from(rest.join("/"));
            check_key(&key, KEY_BYTES).map_err(Rejected::bad)?;
            let place = Place {
                keyspace: (*name).into(),
                key,
            };
            Ok(match ask.method {
                Method::PUT => Step::Put(place, Some(ask.body.clone())),
                Method::DELETE => Step::Put(place, None),
                _ if is_locked => Step::Lock(place),
                _ => Step::Get(place),
            })
        }
        _ => Err(Rejected::new(StatusCode::NOT_FOUND, "no such path")),
    }
}

/// Whether a read is to wait for its turn.
fn is_locked(params: &Params) -> Result<bool, Rejected> {
    match params.get("lock").map(|lock| &lock[..]) {
        None | Some(b"false") => Ok(false),
        Some(b"true") => Ok(true),
        Some(_) => Err(Rejected::bad("lock is true or false")),
    }
}

/// `KEYSPACE/KEY`.
fn place_of(first: &Bytes) -> Result<Place, Rejected> {
    let wrong = || Rejected::bad("first is KEYSPACE/KEY, the key that the transaction wrote first");
    let slash = first
        .iter()
        .position(|byte| *byte == b'/')
        .ok_or_else(wrong)?;
    let keyspace = std::str::from_utf8(&first[..slash]).map_err(|_| wrong())?;
    let key = first.slice(slash + 1..);
    check_key(&key, KEY_BYTES).map_err(Rejected::bad)?;
    Ok(Place {
        keyspace: keyspace.into(),
        key,
    })
}

/// Asks the shard that keeps a transaction.
async fn ask_keeper(client: &Client, id: TxnId, wanted: &Step) -> StepReply {
    let Ok(services) = client.services() else {
        return StepReply::Away;
    };
    if id.at == services.shard().address() {
        return step(client, id, wanted.clone()).await;
    }
    if !services.is_shard(id.at) {
        return StepReply::NoShard;
    }
    let left = client.left();
    let mut out = BytesMut::new();
    out.put_u8(STEP);
    put_within(&mut out, left);
    encode(id, wanted, &mut out);
    let (mut next, mut request) = (id.at, out.freeze());
    if !services.is_reachable(id.at) {
        let Some(relay) = relay_to(&services, id.at) else {
            return StepReply::Away;
        };
        next = relay;
        request = encode_relay(id.at, left, &request);
    }
    let asked = services.ask(next, NUMBER, request, left).await;
    match asked.map(decode_reply) {
        Ok(Ok(reply)) => reply,
        Ok(Err(_)) | Err(_) => refused(504, unanswered(wanted)),
    }
}

fn unanswered(wanted: &Step) -> &'static str {
    match wanted {
        Step::Commit(_) => {
            "the node that keeps this transaction did not answer: whether it committed is not known; POST the commit again with ?first=KEYSPACE/KEY, the key that it wrote first"
        }
        Step::Get(_) | Step::Lock(_) | Step::Scan { .. } | Step::Look => {
            "the node that keeps this transaction did not answer: nothing was read; try again"
        }
        Step::Put(..) => {
            "the node that keeps this transaction did not answer: whether it keeps the write is not known; send it again"
        }
        Step::Abort => {
            "the node that keeps this transaction did not answer: if it is still open it ends by itself when it is not used"
        }
    }
}

fn text(version: Version) -> String {
    Stamp::new(version, ORIGIN).to_string()
}

fn shown(
    services: &Rc<Services>,
    id: TxnId,
    told: StepReply,
    wanted: &Step,
) -> Result<Answer, Rejected> {
    let state = |state: &str| json!({"id": id.to_string(), "state": state});
    let gone = |line: &str| Rejected::new(StatusCode::GONE, line);
    Ok(match told {
        StepReply::Value(Some((version, found))) => {
            let found = services.counted(found)?;
            value(found, version.map(|version| Stamp::new(version, ORIGIN)))
        }
        StepReply::Value(None) => {
            return Err(Rejected::new(StatusCode::NOT_FOUND, "there is no such key"));
        }
        StepReply::Rows(rows) => {
            let sizes = rows.iter().map(|(key, _, found)| key.len() + found.len());
            let mut held = services.memory();
            held.grow(sizes.sum())?;
            let frames = rows.into_iter().map(move |(key, version, found)| {
                let _held = &held;
                let version = version.map(|version| Stamp::new(version, ORIGIN));
                Ok(Frame::data(json_line(&key, &found, (version, None))))
            });
            stream(services, "application/x-ndjson", Box::pin(iter(frames)))
        }
        StepReply::Kept(written) => json(StatusCode::ACCEPTED, &written_json(json!({}), &written)),
        StepReply::Committed(version) => {
            let mut committed = state("committed");
            committed["version"] = text(version).into();
            json(StatusCode::OK, &committed)
        }
        StepReply::Conflict => {
            return Err(Rejected::new(
                StatusCode::CONFLICT,
                "others were in the way: nothing of it happened; begin another",
            ));
        }
        StepReply::Aborted if matches!(wanted, Step::Commit(_)) => {
            return Err(gone(
                "this transaction is aborted: nothing of it happened; begin another",
            ));
        }
        StepReply::Aborted => json(StatusCode::OK, &state("aborted")),
        StepReply::Open(written) => json(StatusCode::OK, &written_json(state("open"), &written)),
        StepReply::Committing => {
            return Err(Rejected::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "this transaction is committing: ask again in a moment",
            ));
        }
        StepReply::NotKnown => {
            return Err(gone(
                "no commit of this transaction is known by this key: it is not the key that was written first, or the transaction has not committed; POST /v1/txn/ID/commit?first=KEYSPACE/KEY ends it for good",
            ));
        }
        StepReply::Away | StepReply::NoShard => {
            let node = services.label_of(id.at);
            return Err(Rejected::new(
                StatusCode::SERVICE_UNAVAILABLE,
                format!(
                    "{node}, which keeps this transaction, cannot be reached: try again, or begin another"
                ),
            ));
        }
        StepReply::Gone => {
            return Err(gone(
                "there is no such transaction: it has ended, or was not used for too long; whether it committed is answered by GET /v1/txn/ID?first=KEYSPACE/KEY, the key that it wrote first",
            ));
        }
        StepReply::Refused(status, line) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
            return Err(Rejected::new(status, line));
        }
    })
}

fn written_json(mut of: Value, written: &Written) -> Value {
    of["writes"] = written.writes.into();
    if let Some(first) = &written.first {
        // As it goes into the parameter of the same name.
        let keyspace = percent_encode(first.keyspace.as_bytes(), OF_QUERY);
        let key = percent_encode(&first.key, OF_QUERY);
        of["first"] = format!("{keyspace}/{key}").into();
    }
    of
}

fn encode(id: TxnId, step: &Step, out: &mut BytesMut) {
    put_bytes(out, id.to_string().as_bytes());
    let place = |out: &mut BytesMut, kind: u8, place: &Place| {
        out.put_u8(kind);
        put_bytes(out, place.keyspace.as_bytes());
        put_bytes(out, &place.key);
    };
    match step {
        Step::Get(of) => place(out, 1, of),
        Step::Lock(of) => place(out, 8, of),
        Step::Put(of, Some(value)) => {
            place(out, 2, of);
            put_bytes(out, value);
        }
        Step::Put(of, None) => place(out, 3, of),
        Step::Scan {
            keyspace,
            start,
            end,
            limit,
        } => {
            out.put_u8(4);
            put_bytes(out, keyspace.as_bytes());
            put_bytes(out, start);
            out.put_u8(end.is_some().into());
            put_bytes(out, end.as_deref().unwrap_or_default());
            out.put_u32_le(*limit as u32);
        }
        Step::Commit(may_write) => {
            out.put_u8(5);
            out.put_u32_le(may_write.len() as u32);
            for name in may_write {
                put_bytes(out, name.as_bytes());
            }
        }
        Step::Abort => out.put_u8(6),
        Step::Look => out.put_u8(7),
    }
}

/// A step of a transaction that is kept here, as another shard sends it.
pub(crate) fn decode(mut from: Bytes) -> Result<(TxnId, Duration, Step), Malformed> {
    let from = &mut from;
    let within = within(from)?;
    let id = string(from)?.parse().map_err(|_| Malformed)?;
    let place = |from: &mut Bytes| {
        Ok::<_, Malformed>(Place {
            keyspace: string(from)?.into(),
            key: get_bytes(from)?,
        })
    };
    let step = match byte(from)? {
        1 => Step::Get(place(from)?),
        2 => Step::Put(place(from)?, Some(get_bytes(from)?)),
        3 => Step::Put(place(from)?, None),
        4 => {
            let (keyspace, start) = (string(from)?, get_bytes(from)?);
            let has_end = byte(from)? != 0;
            let end = get_bytes(from)?;
            Step::Scan {
                keyspace,
                start,
                end: has_end.then_some(end),
                limit: from.try_get_u32_le().map_err(|_| Malformed)? as usize,
            }
        }
        5 => {
            let count = from.try_get_u32_le().map_err(|_| Malformed)?;
            let names = (0..count).map(|_| string(from));
            Step::Commit(names.collect::<Result<_, _>>()?)
        }
        6 => Step::Abort,
        7 => Step::Look,
        8 => Step::Lock(place(from)?),
        _ => return Err(Malformed),
    };
    Ok((id, within, step))
}

/// What comes of a step, as it travels.
pub(crate) fn encode_reply(told: &StepReply) -> Bytes {
    let mut out = BytesMut::new();
    let version = |version: &Option<Version>| version.unwrap_or_default().0;
    match told {
        StepReply::Value(None) => out.put_u8(1),
        StepReply::Value(Some((of, value))) => {
            out.put_u8(2);
            out.put_u64_le(version(of));
            put_bytes(&mut out, value);
        }
        StepReply::Rows(rows) => {
            out.put_u8(3);
            for (key, of, value) in rows {
                put_bytes(&mut out, key);
                out.put_u64_le(version(of));
                put_bytes(&mut out, value);
            }
        }
        StepReply::Kept(written) => put_written(&mut out, 4, written),
        StepReply::Committed(version) => {
            out.put_u8(5);
            out.put_u64_le(version.0);
        }
        StepReply::Conflict => out.put_u8(6),
        StepReply::Aborted => out.put_u8(7),
        StepReply::Open(written) => put_written(&mut out, 8, written),
        StepReply::Committing => out.put_u8(9),
        // The last three are known at the shard of the client alone.
        StepReply::Gone | StepReply::Away | StepReply::NoShard | StepReply::NotKnown => {
            out.put_u8(10);
        }
        StepReply::Refused(status, line) => {
            out.put_u8(11);
            out.put_u16_le(*status);
            put_bytes(&mut out, line.as_bytes());
        }
    }
    out.freeze()
}

fn decode_reply(mut from: Bytes) -> Result<StepReply, Malformed> {
    let from = &mut from;
    let version = |from: &mut Bytes| {
        let version = from.try_get_u64_le().map_err(|_| Malformed)?;
        Ok::<_, Malformed>(Some(Version(version)).filter(|version| *version != Version(0)))
    };
    Ok(match byte(from)? {
        1 => StepReply::Value(None),
        2 => StepReply::Value(Some((version(from)?, get_bytes(from)?))),
        3 => {
            let mut rows = Vec::new();
            while from.has_remaining() {
                rows.push((get_bytes(from)?, version(from)?, get_bytes(from)?));
            }
            StepReply::Rows(rows)
        }
        4 => StepReply::Kept(written(from)?),
        5 => StepReply::Committed(Version(from.try_get_u64_le().map_err(|_| Malformed)?)),
        6 => StepReply::Conflict,
        7 => StepReply::Aborted,
        8 => StepReply::Open(written(from)?),
        9 => StepReply::Committing,
        10 => StepReply::Gone,
        11 => {
            let status = from.try_get_u16_le().map_err(|_| Malformed)?;
            StepReply::Refused(status, string(from)?)
        }
        _ => return Err(Malformed),
    })
}

fn put_written(out: &mut BytesMut, kind: u8, written: &Written) {
    out.put_u8(kind);
    out.put_u64_le(written.writes as u64);
    out.put_u8(written.first.is_some().into());
    if let Some(first) = &written.first {
        put_bytes(out, first.keyspace.as_bytes());
        put_bytes(out, &first.key);
    }
}

fn written(from: &mut Bytes) -> Result<Written, Malformed> {
    let writes = from.try_get_u64_le().map_err(|_| Malformed)? as usize;
    let first = match byte(from)? {
        0 => None,
        _ => Some(Place {
            keyspace: string(from)?.into(),
            key: get_bytes(from)?,
        }),
    };
    Ok(Written { writes, first })
}

fn byte(from: &mut Bytes) -> Result<u8, Malformed> {
    from.try_get_u8().map_err(|_| Malformed)
}

fn string(from: &mut Bytes) -> Result<String, Malformed> {
    let bytes = get_bytes(from)?;
    String::from_utf8(bytes.into()).map_err(|_| Malformed)
}

#[cfg(test)]
#[path = "interactive_http_tests.rs"]
mod tests;
