//! Many pairs with one request.

use std::rc::Rc;

use bytes::Bytes;
use dunlin_proto::pairs::{self, CheckedPairs};
use hyper::header::CONTENT_TYPE;
use hyper::{Method, Request, StatusCode};
use serde_json::json;
use tokio::time::Instant;

use super::attempt::Attempt;
use super::body::{read_body, too_large};
use super::error::Rejected;
use super::keys::status_of;
use super::params::Params;
use super::reply::{self, Reply};
use super::upload::Upload;
use crate::limits::KEY_BYTES;
use crate::meters::Operation;
use crate::quorum::{Coordinator, Failure};
use crate::shard::{Arrivals, Shard};

/// Bytes of a body besides the value of its only pair, or entry.
pub(super) const EXTRA_BYTES: usize =
    pairs::HEAD_BYTES + pairs::EXPIRY_BYTES + ENTRY_HEAD_BYTES + KEY_BYTES + pairs::CHECKSUM_BYTES;
/// What stands before the only entry of a batch, and in it before its key.
const ENTRY_HEAD_BYTES: usize = 256;

/// Bodies above this are looked through off the event loop.
const CHECKED_HERE_BYTES: usize = 2 << 20;

/// The pairs of a body, none with a longer value than a put may have.
async fn check(shard: &Shard, body: Bytes) -> Result<CheckedPairs, Rejected> {
    let most = shard.config().max_body_bytes;
    let is_small = body.len() <= CHECKED_HERE_BYTES;
    let is_short = body.len() <= most;
    let check = move || {
        let pairs = CheckedPairs::check(body, KEY_BYTES)?;
        let is_fit = is_short || pairs.clone().all(|pair| pair.value.len() <= most);
        Ok::<_, String>((pairs, is_fit))
    };
    let checked = if is_small {
        check()
    } else {
        let apart = shard.env().store_runner.run_apart(check).await;
        apart.map_err(|gone| Rejected::bad(gone.to_string()))?
    };
    match checked.map_err(Rejected::bad)? {
        (pairs, true) => Ok(pairs),
        (_, false) => Err(too_large(most)),
    }
}

/// `POST /v1/keyspaces/{name}/bulk`.
pub(super) async fn bulk(
    coordinator: &Rc<Coordinator>,
    arrivals: &Rc<Arrivals>,
    request: Request<Upload>,
    keyspace: &str,
    params: Params,
) -> Result<Reply, Rejected> {
    let shard = coordinator.shard();
    if *request.method() != Method::POST {
        return Err(Rejected::method());
    }
    let content_type = request.headers().get(CONTENT_TYPE);
    if content_type.is_none_or(|given| given != pairs::CONTENT_TYPE) {
        return Err(Rejected::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            format!("the content type here is {}", pairs::CONTENT_TYPE),
        ));
    }
    let (id, quorum) = {
        let placement = shard.placement();
        let found = placement.named(keyspace).ok_or(Failure::UnknownKeyspace)?;
        let replicas = found.keyspace.settings.replicas;
        let quorum = params.quorum(replicas, placement.member_count())?;
        (found.keyspace.id, quorum)
    };
    // A value that can be put by itself fits here, too.
    let one = shard.config().max_body_bytes.saturating_add(EXTRA_BYTES);
    let attempt = Attempt::new(shard, arrivals, request.headers())?;
    // Held until all is answered.
    let received = read_body(&shard.front().doors, request.into_body(), one).await?;
    let pairs = check(shard, received.bytes.clone()).await?;
    let (count, bytes) = (pairs.pairs, pairs.bytes);
    attempt.check()?;
    let (deadline, floor) = (attempt.deadline(), attempt.floor());
    let begun = Instant::now();
    let written = coordinator
        .bulk(id, quorum, deadline, floor, pairs)
        .await
        .map_err(|failure| attempt.failed(failure));
    let status = status_of(&written, |_| StatusCode::OK);
    let spent_us = begun.elapsed().as_micros() as u64;
    shard
        .front()
        .requests
        .record(Operation::Bulk, id, status, spent_us);
    written?;
    let stored = json!({ "pairs": count, "bytes": bytes });
    Ok(reply::json(StatusCode::OK, &stored))
}
