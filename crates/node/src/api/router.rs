//! Paths to resources.

use std::rc::Rc;

use hyper::body::Incoming;
use hyper::{Request, StatusCode};

use super::error::Rejected;
use super::params::{Params, decode};
use super::reply::Reply;
use super::{bulk, health, keys, keyspaces, members, metrics, scan, status, v0};
use crate::shard::Shard;

/// Answers any request.
pub(super) async fn route(shard: Rc<Shard>, request: Request<Incoming>) -> Reply {
    let counter = &shard.counters.http_requests;
    counter.set(counter.get() + 1);
    let path = request.uri().path().to_owned();
    let params = Params::parse(request.uri().query());
    match path.as_str() {
        "/v0/entity" => v0::entity(shard, request, params)
            .await
            .unwrap_or_else(Rejected::into_text),
        "/v0/entities" => v0::entities(shard, request.method(), params)
            .await
            .unwrap_or_else(Rejected::into_text),
        "/health" => health::health(&shard),
        "/metrics" => metrics::metrics(shard).await,
        path => match path.strip_prefix("/v1/") {
            Some(rest) => v1(shard, request, rest, params)
                .await
                .unwrap_or_else(Rejected::into_json),
            None => unknown().into_text(),
        },
    }
}

async fn v1(
    shard: Rc<Shard>,
    request: Request<Incoming>,
    rest: &str,
    params: Params,
) -> Result<Reply, Rejected> {
    // A key may hold an encoded slash, so the path is cut before it is decoded.
    let parts: Vec<&str> = rest.splitn(4, '/').collect();
    match parts.as_slice() {
        ["status"] => status::status(shard).await,
        ["members"] => members::members(shard, request).await,
        ["members", "change"] => members::cancel(shard, request.method()).await,
        ["keyspaces"] => keyspaces::collection(shard, request).await,
        ["keyspaces", name] => keyspaces::one(shard, request.method(), &text(name)?).await,
        ["keyspaces", name, "keys"] => scan::keys(shard, &request, &text(name)?, params).await,
        ["keyspaces", name, "bulk"] => bulk::bulk(shard, request, &text(name)?, params).await,
        ["keyspaces", name, "keys", key] => {
            keys::key(shard, request, &text(name)?, decode(key), params).await
        }
        _ => Err(unknown()),
    }
}

fn unknown() -> Rejected {
    Rejected::new(StatusCode::BAD_REQUEST, "no such path")
}

fn text(part: &str) -> Result<String, Rejected> {
    String::from_utf8(decode(part).into()).map_err(|_| Rejected::bad("the name is not UTF-8"))
}
