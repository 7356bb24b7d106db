//! The side of the other cluster: sums of ranges, and records of keys.

use std::rc::Rc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use dunlin_entry::{Entry, Position};
use dunlin_node::http::{Answer, Rejected, json};
use dunlin_node::{Failure, LinkedKeyspace, Services};
use dunlin_proto::api::{CompareAnswer, CompareRequest, DigestRequest};
use futures_util::{StreamExt, TryStreamExt, stream};
use hyper::StatusCode;
use serde::de::DeserializeOwned;

use super::digest::{hashed, plain};
use super::range::{self, RangeError};
use crate::arrivals::sources;
use crate::place::cluster_id;
use crate::refused::Refused;
use crate::sources::homes;

/// Keys that one request may name.
pub(crate) const KEYS_MAX: usize = 256;
/// Keys that are read at once.
pub(crate) const AT_ONCE: usize = 16;
/// Bytes of values after which an answer ends.
const VALUES_BYTES: usize = 1 << 20;

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Rejected> {
    let wrong = |error| Rejected::bad(format!("the body is no request of a comparison: {error}"));
    serde_json::from_slice(body).map_err(wrong)
}

/// `POST /v1/keyspaces/NAME/digests`.
pub(crate) async fn digests(
    services: &Rc<Services>,
    keyspace: &LinkedKeyspace,
    body: &[u8],
) -> Result<Answer, Rejected> {
    let request: DigestRequest = parse(body)?;
    let id = keyspace.record.id;
    if request.keyspace_id != id {
        return Ok(Refused::Keyspace.answer());
    }
    match range::read(services, id, &request).await {
        Ok(answer) => Ok(json(StatusCode::OK, &answer)),
        Err(error @ RangeError::Malformed(_)) => Err(Rejected::bad(error.to_string())),
        Err(error @ RangeError::NoReplica(_)) => {
            let status = StatusCode::SERVICE_UNAVAILABLE;
            Err(Rejected::new(status, error.to_string()))
        }
    }
}

/// `POST /v1/keyspaces/NAME/compare`.
pub(crate) async fn compare(
    services: &Rc<Services>,
    keyspace: &LinkedKeyspace,
    body: &[u8],
) -> Result<Answer, Rejected> {
    let request: CompareRequest = parse(body)?;
    let id = keyspace.record.id;
    if request.keyspace_id != id {
        return Ok(Refused::Keyspace.answer());
    }
    if request.keys_base64.len() > KEYS_MAX {
        let line = format!("a request names at most {KEYS_MAX} keys");
        return Err(Rejected::bad(line));
    }
    let key = |text: &String| STANDARD.decode(text).map(Bytes::from);
    let keys: Result<Vec<Bytes>, _> = request.keys_base64.iter().map(key).collect();
    let keys = keys.map_err(|error| Rejected::bad(format!("a key is no base64: {error}")))?;
    let sources = sources(services, id).await?;
    let own = cluster_id(services);
    let homes = homes(&sources).into_iter().map(str::to_owned);
    let mut answer = CompareAnswer {
        entries_base64: Vec::with_capacity(keys.len()),
        homes: homes.chain([own]).collect(),
    };
    if !request.values {
        for record in read_all(services, id, keys).await?.into_iter().flatten() {
            answer.entries_base64.push(range::text(&record.entry));
        }
        return Ok(json(StatusCode::OK, &answer));
    }
    let mut bytes = 0;
    for key in keys {
        if bytes >= VALUES_BYTES {
            break;
        }
        if let Some(item) = services.read_record(id, &key).await? {
            bytes += key.len() + item.value.len();
            let entry = plain(key, &item.by_ref(), item.value.clone());
            answer.entries_base64.push(range::text(&entry));
        }
    }
    Ok(json(StatusCode::OK, &answer))
}

/// A record by a majority of its replicas.
#[derive(Debug, Clone)]
pub(crate) struct Read {
    /// With the hash of its value.
    pub entry: Entry,
    pub position: Position,
}

/// The records of keys by majorities of their replicas.
pub(crate) async fn read_all(
    services: &Rc<Services>,
    keyspace: u32,
    keys: Vec<Bytes>,
) -> Result<Vec<Option<Read>>, Failure> {
    let reads = keys.into_iter().map(|key| async move {
        let item = services.read_record(keyspace, &key).await?;
        Ok(item.map(|item| Read {
            entry: hashed(key, &item.by_ref()),
            position: item.position(),
        }))
    });
    stream::iter(reads).buffered(AT_ONCE).try_collect().await
}
