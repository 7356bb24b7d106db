//! Paths to resources.

use std::rc::Rc;

use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};

use super::attempt::TIME_HEADER;
use super::error::Rejected;
use super::gate::Gate;
use super::params::{Params, decode};
use super::reply::Reply;
use super::{bulk, health, keys, keyspaces, members, mend, metadata, metrics, scan, status, v0};
use crate::shard::{Arrivals, Shard};

/// Answers any request.
pub(super) async fn route(
    gate: &Gate,
    arrivals: &Rc<Arrivals>,
    request: Request<Incoming>,
) -> Reply {
    let mut reply = answer(gate, arrivals, request).await;
    let time = gate.shard().time_header();
    reply.headers_mut().insert(TIME_HEADER, time);
    reply
}

async fn answer(gate: &Gate, arrivals: &Rc<Arrivals>, request: Request<Incoming>) -> Reply {
    let shard = gate.shard().clone();
    let counter = &shard.counters.http_requests;
    counter.set(counter.get() + 1);
    let path = request.uri().path().to_owned();
    if let Err(failure) = shard.may_read() {
        // Whoever asks for data is told; who asks for the node's state is answered.
        if path.starts_with("/v0/") {
            return Rejected::from(failure).into_text();
        }
        if path.starts_with("/v1/keyspaces/") && path.matches('/').count() > 3 {
            return Rejected::from(failure).into_json();
        }
    }
    let params = Params::parse(request.uri().query());
    match path.as_str() {
        "/health/live" => return health::live(&shard),
        "/health" | "/health/ready" => return health::ready(shard).await,
        _ => {}
    }
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    if gate.warm().await && !is_read {
        arrivals.has_been_held_up();
    }
    let reply = serve(shard.clone(), arrivals, request, &path, params).await;
    match shard.is_superseded() {
        // Whatever was done here does not count.
        true => Rejected::superseded().into_text(),
        false => reply,
    }
}

async fn serve(
    shard: Rc<Shard>,
    arrivals: &Rc<Arrivals>,
    request: Request<Incoming>,
    path: &str,
    params: Params,
) -> Reply {
    match path {
        "/v0/entity" => v0::entity(shard, arrivals, request, params)
            .await
            .unwrap_or_else(Rejected::into_text),
        "/v0/entities" => v0::entities(shard, request.method(), params)
            .await
            .unwrap_or_else(Rejected::into_text),
        "/metrics" => metrics::metrics(shard).await,
        path => match path.strip_prefix("/v1/") {
            Some(rest) => v1(shard, arrivals, request, rest, params)
                .await
                .unwrap_or_else(Rejected::into_json),
            None => unknown().into_text(),
        },
    }
}

async fn v1(
    shard: Rc<Shard>,
    arrivals: &Rc<Arrivals>,
    request: Request<Incoming>,
    rest: &str,
    params: Params,
) -> Result<Reply, Rejected> {
    // A key may hold an encoded slash, so the path is cut before it is decoded.
    let parts: Vec<&str> = rest.splitn(4, '/').collect();
    match parts.as_slice() {
        ["status"] => status::status(shard).await,
        ["metadata"] => metadata::metadata(shard, request.method()).await,
        ["dropped"] => keyspaces::dropped(&shard, request.method()),
        ["members"] => members::members(shard, arrivals, request).await,
        ["members", "change"] => members::cancel(shard, arrivals, request.method()).await,
        ["keyspaces"] => keyspaces::collection(shard, arrivals, request).await,
        ["keyspaces", name] => {
            keyspaces::one(shard, arrivals, request.method(), &text(name)?).await
        }
        ["keyspaces", name, "keys"] => scan::keys(shard, &request, &text(name)?, params).await,
        ["keyspaces", name, "undrop"] => {
            keyspaces::undrop(shard, arrivals, request.method(), &text(name)?).await
        }
        ["keyspaces", name, "mend-stamps"] => {
            mend::mend(shard, request.method(), &text(name)?, params).await
        }
        ["keyspaces", name, "bulk"] => {
            bulk::bulk(shard, arrivals, request, &text(name)?, params).await
        }
        ["keyspaces", name, "keys", key] => {
            keys::key(shard, arrivals, request, &text(name)?, decode(key), params).await
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
