//! `/v1/txn/...`: the steps of a transaction, from any node to the shard that keeps it.

use std::rc::Rc;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_entry::{Stamp, Version};
use dunlin_metadata::Role;
use dunlin_node::Services;
use dunlin_node::http::{
    Answer, Ask, KEY_BYTES, Rejected, bounds, empty, json, json_line, lines, value,
};
use dunlin_txn::ORIGIN;
use hyper::{Method, StatusCode};
use serde_json::json;

use crate::body::{Place, check_key};
use crate::http::keyspace_for;
use crate::interactive::{SCANNED, SCANNED_MAX, Step, Told, TxnId, begin, find, step};
use crate::plug::{NUMBER, Part};
use crate::wire::{Malformed, STEP, get_bytes, put_bytes};

/// How long the shard that keeps a transaction may take.
const WITHIN: Duration = Duration::from_secs(15);

/// Answers a request.
pub(crate) async fn answer(services: Rc<Services>, ask: Ask) -> Result<Answer, Rejected> {
    let parts: Vec<&str> = ask.parts.iter().map(String::as_str).collect();
    if let ["txn", "begin"] = parts[..] {
        let part = services.find::<Part>();
        let secret = part.map_or(0, |part| part.secret(&services));
        let id = begin(&services, secret).await?;
        return Ok(json(StatusCode::CREATED, &json!({"id": id.to_string()})));
    }
    let id = parts.get(1).copied().unwrap_or_default();
    let id: TxnId = id.parse().map_err(|_| {
        Rejected::new(
            StatusCode::NOT_FOUND,
            "this is no id of a transaction: POST /v1/txn/begin gives one",
        )
    })?;
    let wanted = step_of(&services, &ask, &parts[2..])?;
    let first = match ask.params.get("first") {
        Some(first) => Some(place_of(first)?),
        None => None,
    };
    if let Some(first) = &first {
        keyspace_for(&services, &ask, &first.keyspace, Role::Read)?;
    }
    let told = match (told(&services, id, &wanted).await, &first, &wanted) {
        (Told::Gone | Told::Away, Some(first), Step::Commit | Step::Look) => {
            find(&services, id, first).await
        }
        (told, _, _) => told,
    };
    shown(&services, id, told, &wanted)
}

/// What a request wants, if its asker may.
fn step_of(services: &Services, ask: &Ask, parts: &[&str]) -> Result<Step, Rejected> {
    let is_get = matches!(ask.method, Method::GET | Method::HEAD);
    match parts {
        [] => Ok(Step::Look),
        ["commit"] => Ok(Step::Commit),
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
                keyspace: (*name).to_owned(),
                start,
                end,
                limit,
            })
        }
        ["keyspaces", name, "keys", rest @ ..] => {
            let role = if is_get { Role::Read } else { Role::Write };
            keyspace_for(services, ask, name, role)?;
            let key = Bytes::from(rest.join("/"));
            check_key(&key, KEY_BYTES).map_err(Rejected::bad)?;
            let place = Place {
                keyspace: (*name).to_owned(),
                key,
            };
            Ok(match ask.method {
                Method::PUT => Step::Put(place, Some(ask.body.clone())),
                Method::DELETE => Step::Put(place, None),
                _ => Step::Get(place),
            })
        }
        _ => Err(Rejected::new(StatusCode::NOT_FOUND, "no such path")),
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
        keyspace: keyspace.to_owned(),
        key,
    })
}

/// Asks the shard that keeps a transaction.
async fn told(services: &Rc<Services>, id: TxnId, wanted: &Step) -> Told {
    if id.at == services.shard().address() {
        return step(services, id, wanted.clone()).await;
    }
    if !services.is_reachable(id.at) {
        return Told::Away;
    }
    let mut out = BytesMut::new();
    out.put_u8(STEP);
    encode(id, wanted, &mut out);
    let asked = services.ask(id.at, NUMBER, out.freeze(), WITHIN).await;
    match asked.map(decode_told) {
        Ok(Ok(told)) => told,
        Ok(Err(_)) | Err(_) => Told::Refused(
            504,
            "the node that keeps this transaction did not answer: what became of it is not known; ask for it by GET /v1/txn/ID?first=KEYSPACE/KEY, the key that it wrote first".to_owned(),
        ),
    }
}

fn text(version: Version) -> String {
    Stamp::new(version, ORIGIN).to_string()
}

fn shown(services: &Services, id: TxnId, told: Told, wanted: &Step) -> Result<Answer, Rejected> {
    let state = |state: &str| json!({"id": id.to_string(), "state": state});
    let gone = |line: &str| Rejected::new(StatusCode::GONE, line);
    Ok(match told {
        Told::Value(Some((version, found))) => {
            value(found, version.map(|version| Stamp::new(version, ORIGIN)))
        }
        Told::Value(None) => {
            return Err(Rejected::new(StatusCode::NOT_FOUND, "there is no such key"));
        }
        Told::Rows(rows) => {
            let mut body = BytesMut::new();
            for (key, version, found) in rows {
                let version = version.map(|version| Stamp::new(version, ORIGIN));
                body.extend_from_slice(&json_line(&key, &found, version));
            }
            lines(body.freeze())
        }
        Told::Kept => empty(StatusCode::ACCEPTED),
        Told::Committed => {
            let mut told = state("committed");
            told["version"] = text(id.txn).into();
            json(StatusCode::OK, &told)
        }
        Told::Conflict => {
            return Err(Rejected::new(
                StatusCode::CONFLICT,
                "others were in the way: nothing of it happened; begin another",
            ));
        }
        Told::Aborted if *wanted == Step::Commit => {
            return Err(gone(
                "this transaction is aborted: nothing of it happened; begin another",
            ));
        }
        Told::Aborted => json(StatusCode::OK, &state("aborted")),
        Told::Open(writes) => {
            let mut told = state("open");
            told["writes"] = writes.into();
            json(StatusCode::OK, &told)
        }
        Told::Committing => {
            return Err(Rejected::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "this transaction is committing: ask again in a moment",
            ));
        }
        Told::Away => {
            let node = services.label_of(id.at);
            return Err(Rejected::new(
                StatusCode::SERVICE_UNAVAILABLE,
                format!(
                    "{node}, which keeps this transaction, cannot be reached: try again, or begin another"
                ),
            ));
        }
        Told::Gone => {
            return Err(gone(
                "there is no such transaction: it has ended, or was not used for too long; whether it committed is told by GET /v1/txn/ID?first=KEYSPACE/KEY, the key that it wrote first",
            ));
        }
        Told::Refused(status, line) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
            return Err(Rejected::new(status, line));
        }
    })
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
        Step::Commit => out.put_u8(5),
        Step::Abort => out.put_u8(6),
        Step::Look => out.put_u8(7),
    }
}

/// A step of a transaction that is kept here, as another shard sends it.
pub(crate) fn decode(mut from: Bytes) -> Result<(TxnId, Step), Malformed> {
    let from = &mut from;
    let id = string(from)?.parse().map_err(|_| Malformed)?;
    let place = |from: &mut Bytes| {
        Ok::<_, Malformed>(Place {
            keyspace: string(from)?,
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
        5 => Step::Commit,
        6 => Step::Abort,
        7 => Step::Look,
        _ => return Err(Malformed),
    };
    Ok((id, step))
}

/// What comes of a step, as it travels.
pub(crate) fn encode_told(told: &Told) -> Bytes {
    let mut out = BytesMut::new();
    let version = |version: &Option<Version>| version.unwrap_or_default().0;
    match told {
        Told::Value(None) => out.put_u8(1),
        Told::Value(Some((of, value))) => {
            out.put_u8(2);
            out.put_u64_le(version(of));
            put_bytes(&mut out, value);
        }
        Told::Rows(rows) => {
            out.put_u8(3);
            for (key, of, value) in rows {
                put_bytes(&mut out, key);
                out.put_u64_le(version(of));
                put_bytes(&mut out, value);
            }
        }
        Told::Kept => out.put_u8(4),
        Told::Committed => out.put_u8(5),
        Told::Conflict => out.put_u8(6),
        Told::Aborted => out.put_u8(7),
        Told::Open(writes) => {
            out.put_u8(8);
            out.put_u64_le(*writes as u64);
        }
        Told::Committing => out.put_u8(9),
        Told::Gone | Told::Away => out.put_u8(10),
        Told::Refused(status, line) => {
            out.put_u8(11);
            out.put_u16_le(*status);
            put_bytes(&mut out, line.as_bytes());
        }
    }
    out.freeze()
}

fn decode_told(mut from: Bytes) -> Result<Told, Malformed> {
    let from = &mut from;
    let version = |from: &mut Bytes| {
        let version = from.try_get_u64_le().map_err(|_| Malformed)?;
        Ok::<_, Malformed>(Some(Version(version)).filter(|version| *version != Version(0)))
    };
    Ok(match byte(from)? {
        1 => Told::Value(None),
        2 => Told::Value(Some((version(from)?, get_bytes(from)?))),
        3 => {
            let mut rows = Vec::new();
            while from.has_remaining() {
                rows.push((get_bytes(from)?, version(from)?, get_bytes(from)?));
            }
            Told::Rows(rows)
        }
        4 => Told::Kept,
        5 => Told::Committed,
        6 => Told::Conflict,
        7 => Told::Aborted,
        8 => Told::Open(from.try_get_u64_le().map_err(|_| Malformed)? as usize),
        9 => Told::Committing,
        10 => Told::Gone,
        11 => {
            let status = from.try_get_u16_le().map_err(|_| Malformed)?;
            Told::Refused(status, string(from)?)
        }
        _ => return Err(Malformed),
    })
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
