//! One key: get, put, delete.

use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::{Kind, Stamp};
use dunlin_proto::{Condition, Item, WriteRequest};
use hyper::header::{HeaderMap, IF_MATCH, IF_NONE_MATCH};
use hyper::{Method, Request, StatusCode};

use super::attempt::Attempt;
use super::body::read_body;
use super::error::Rejected;
use super::params::Params;
use super::reply::{self, Reply};
use super::upload::Upload;
use super::validators::{self, Verdict};
use crate::limits::KEY_BYTES;
use crate::meters::Operation;
use crate::quorum::{Coordinator, Failure, Quorum};
use crate::shard::{Arrivals, Shard};

/// Which key of which keyspace, and how many replicas must agree.
pub(super) struct Target {
    pub keyspace: u32,
    pub key: Bytes,
    pub quorum: Quorum,
    /// Whether its replicas agree before they write.
    pub is_transactional: bool,
}

impl Target {
    pub fn find(
        shard: &Shard,
        keyspace: &str,
        key: Bytes,
        params: &Params,
    ) -> Result<Target, Rejected> {
        if key.len() > KEY_BYTES {
            return Err(Rejected::bad(format!(
                "a key has at most {KEY_BYTES} bytes, this one {}",
                key.len()
            )));
        }
        let placement = shard.placement();
        if let Some(found) = placement.transactional_named(keyspace) {
            return Ok(Target {
                keyspace: found.id,
                quorum: of_ranges(&found.name, params)?,
                is_transactional: true,
                key,
            });
        }
        let found = placement.named(keyspace).ok_or(Failure::UnknownKeyspace)?;
        Ok(Target {
            is_transactional: false,
            keyspace: found.keyspace.id,
            quorum: params.quorum(found.keyspace.settings.replicas, placement.member_count())?,
            key,
        })
    }
}

/// Of a transactional keyspace, where a majority always agrees: `ack` and `from` mean nothing.
pub(super) fn of_ranges(keyspace: &str, params: &Params) -> Result<Quorum, Rejected> {
    match ["ack", "from"]
        .iter()
        .find(|name| params.get(name).is_some())
    {
        Some(name) => Err(not_of_ranges(keyspace, name)),
        None => Ok(Quorum { ack: 1, from: 1 }),
    }
}

/// What a transactional keyspace does not have.
pub(super) fn not_of_ranges(keyspace: &str, what: &str) -> Rejected {
    Rejected::bad(format!(
        "keyspace {keyspace} is transactional, and such keyspaces have no {what} yet: docs/transactional.md says what they have"
    ))
}

/// `/v1/keyspaces/{name}/keys/{key}`.
pub(super) async fn key(
    coordinator: Rc<Coordinator>,
    arrivals: &Rc<Arrivals>,
    request: Request<Upload>,
    keyspace: &str,
    key: Bytes,
    params: Params,
) -> Result<Reply, Rejected> {
    if key.is_empty() {
        return Err(Rejected::bad("the key is empty"));
    }
    let shard = coordinator.shard();
    let target = Target::find(shard, keyspace, key, &params)?;
    match *request.method() {
        Method::GET | Method::HEAD => get(&coordinator, target, request.headers()).await,
        Method::PUT => {
            let condition = condition(request.headers(), &target, keyspace)?;
            let expiry_ms = expiry_ms(shard, &params)?;
            if target.is_transactional && expiry_ms.is_some() {
                return Err(not_of_ranges(keyspace, "expires_in"));
            }
            let attempt = Attempt::new(shard, arrivals, request.headers())?;
            put(&coordinator, request, target, expiry_ms, condition, attempt).await
        }
        Method::DELETE => {
            let condition = condition(request.headers(), &target, keyspace)?;
            let attempt = Attempt::new(shard, arrivals, request.headers())?;
            delete(&coordinator, target, condition, attempt).await
        }
        _ => Err(Rejected::method()),
    }
}

pub(super) async fn get(
    coordinator: &Rc<Coordinator>,
    target: Target,
    headers: &HeaderMap,
) -> Result<Reply, Rejected> {
    let shard = coordinator.shard();
    let newest = coordinator
        .read(target.keyspace, &target.key, target.quorum)
        .await;
    let spent_us = shard.latency().take_newest_us();
    let answer = show(shard, newest, headers);
    let status = status_of(&answer, |reply| reply.status());
    shard
        .front()
        .requests
        .record(Operation::Get, target.keyspace, status, spent_us);
    answer
}

/// The status that a request is answered with.
pub(super) fn status_of<T>(
    answer: &Result<T, Rejected>,
    of_done: impl FnOnce(&T) -> StatusCode,
) -> StatusCode {
    match answer {
        Ok(done) => of_done(done),
        Err(rejected) => rejected.status,
    }
}

/// What a client that asks with `headers` sees of the newest record.
fn show(
    shard: &Shard,
    newest: Result<Option<Item>, Failure>,
    headers: &HeaderMap,
) -> Result<Reply, Rejected> {
    let found = match newest? {
        Some(item) if shard.shows(&item)? => Some(item),
        _ => None,
    };
    let stamp = found.as_ref().map(|item| item.stamp);
    match (validators::judge(headers, stamp)?, found) {
        (Verdict::Whole, Some(item)) => {
            let value = reply::counted(&shard.front().doors, item.value)?;
            let found = reply::bytes(StatusCode::OK, value);
            let found = reply::typed(found, "application/octet-stream");
            let found = reply::with_version(found, item.stamp);
            Ok(reply::with_expiry(found, item.expiry_ms))
        }
        (Verdict::Whole, None) => Ok(reply::empty(StatusCode::NOT_FOUND)),
        (Verdict::Same, found) => {
            let same = reply::empty(StatusCode::NOT_MODIFIED);
            Ok(match found {
                Some(item) => {
                    reply::with_expiry(reply::with_version(same, item.stamp), item.expiry_ms)
                }
                None => same,
            })
        }
        (Verdict::Other, _) => Err(Failure::ConditionFailed(stamp).into()),
    }
}

/// When a value is gone, by `expires_in` or `expires_at`; in milliseconds since 1970.
fn expiry_ms(shard: &Shard, params: &Params) -> Result<Option<u64>, Rejected> {
    let now_ms = shard.clock().now_ms();
    match (params.number("expires_in")?, params.number("expires_at")?) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(Rejected::bad(
            "expires_in and expires_at exclude one another",
        )),
        (Some(0), None) => Err(Rejected::bad("expires_in must be at least one second")),
        (Some(seconds), None) => seconds
            .checked_mul(1_000)
            .and_then(|ms| ms.checked_add(now_ms))
            .map(Some)
            .ok_or_else(|| Rejected::bad("expires_in is too far away")),
        (None, Some(ms)) if ms <= now_ms => Err(Rejected::bad(format!(
            "expires_at is {ms} and it is {now_ms} now, in milliseconds since 1970: such a value would be gone at once; nothing was written"
        ))),
        (None, Some(ms)) => Ok(Some(ms)),
    }
}

pub(super) async fn put(
    coordinator: &Rc<Coordinator>,
    request: Request<Upload>,
    target: Target,
    expiry_ms: Option<u64>,
    condition: Condition,
    attempt: Attempt,
) -> Result<Reply, Rejected> {
    let shard = coordinator.shard();
    // Held until the write is answered.
    let limit_bytes = shard.config().max_body_bytes;
    let received = read_body(&shard.front().doors, request.into_body(), limit_bytes)
        .await
        .map_err(Rejected::settled)?;
    let change = Change {
        kind: Kind::Put,
        value: received.bytes.clone(),
        expiry_ms,
        condition,
    };
    write(coordinator, target, change, attempt)
        .await
        .map(|stamp| reply::with_version(reply::empty(StatusCode::CREATED), stamp))
}

pub(super) async fn delete(
    coordinator: &Rc<Coordinator>,
    target: Target,
    condition: Condition,
    attempt: Attempt,
) -> Result<Reply, Rejected> {
    let change = Change {
        kind: Kind::Delete,
        value: Bytes::new(),
        expiry_ms: None,
        condition,
    };
    write(coordinator, target, change, attempt)
        .await
        .map(|stamp| reply::with_version(reply::empty(StatusCode::ACCEPTED), stamp))
}

struct Change {
    kind: Kind,
    value: Bytes,
    expiry_ms: Option<u64>,
    condition: Condition,
}

async fn write(
    coordinator: &Rc<Coordinator>,
    target: Target,
    change: Change,
    attempt: Attempt,
) -> Result<Stamp, Rejected> {
    attempt.check()?;
    let request = WriteRequest {
        keyspace: target.keyspace,
        kind: change.kind,
        ack: target.quorum.ack,
        from: target.quorum.from,
        condition: change.condition,
        expiry_ms: change.expiry_ms,
        key: target.key,
        value: change.value,
        deadline: attempt.deadline(),
        floor: attempt.floor(),
        replaces: None,
        given: None,
    };
    let written = coordinator.write(request).await;
    let shard = coordinator.shard();
    let spent_us = shard.latency().take_newest_us();
    let written = written.map_err(|failure| attempt.failed_one(failure));
    let (operation, done) = match change.kind {
        Kind::Delete => (Operation::Delete, StatusCode::ACCEPTED),
        _ => (Operation::Put, StatusCode::CREATED),
    };
    let status = status_of(&written, |_| done);
    shard
        .front()
        .requests
        .record(operation, target.keyspace, status, spent_us);
    written
}

/// The condition of a write, which only transactional keyspaces keep: elsewhere two clients may both be told that
/// theirs held.
fn condition(headers: &HeaderMap, target: &Target, keyspace: &str) -> Result<Condition, Rejected> {
    match condition_of(headers)? {
        Condition::None => Ok(Condition::None),
        condition if target.is_transactional => Ok(condition),
        _ => Err(Rejected::bad(format!(
            "keyspace {keyspace} is no transactional one, and takes no If-Match or If-None-Match on writes: dunlin keyspace create NAME --mode transactional makes one that does"
        ))),
    }
}

/// `If-Match` with a version or `*`, `If-None-Match` with `*`.
fn condition_of(headers: &HeaderMap) -> Result<Condition, Rejected> {
    for name in [IF_MATCH, IF_NONE_MATCH] {
        if headers.get_all(&name).iter().count() > 1 {
            return Err(Rejected::bad(format!("{name} is given twice")));
        }
    }
    let header = |name| {
        headers
            .get(name)
            .map(|value| value.to_str().unwrap_or_default().trim())
    };
    match (header(IF_MATCH), header(IF_NONE_MATCH)) {
        (None, None) => Ok(Condition::None),
        (Some("*"), None) => Ok(Condition::Present),
        (Some(version), None) => version
            .trim_matches('"')
            .parse()
            .map(Condition::Is)
            .map_err(|_| {
                Rejected::bad("If-Match takes a version as given in Dunlin-Version, or *")
            }),
        (None, Some("*")) => Ok(Condition::Absent),
        (None, Some(_)) => Err(Rejected::bad("If-None-Match takes only *")),
        (Some(_), Some(_)) => Err(Rejected::bad(
            "If-Match and If-None-Match exclude one another",
        )),
    }
}
