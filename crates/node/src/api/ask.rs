//! A request as a capability that is plugged into the node has it.

use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_metadata::Role;
use futures_util::{StreamExt, TryStreamExt};
use http_body_util::BodyExt;
use hyper::header::{CACHE_CONTROL, HeaderValue};
use hyper::{HeaderMap, Method, StatusCode};
use tokio::sync::Notify;

use super::error::Rejected;
use super::params::Params;
use super::reply::{self, Chunks, Reply};
use super::router::text;
use super::rules::find;
use super::upgrade::Upgrading;
use crate::env::LocalFuture;
use crate::services::Services;

/// A request that a rule let in.
pub struct Ask {
    /// Its method.
    pub method: Method,
    /// Its path behind `/v1/`, cut at the slashes and decoded.
    pub parts: Vec<String>,
    /// Its parameters, none of which the rule does not know.
    pub params: Params,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, where it has one.
    pub body: Bytes,
    /// Who asks, and from where, for people.
    pub who: String,
    /// The user, or in a cluster without users the address: quotas are by client.
    pub client: String,
    /// Until when a write may have its timestamp, by `Dunlin-Deadline`; checked already that it lies ahead.
    pub deadline: Version,
    /// A write's timestamp must be above this, by `Dunlin-After`.
    pub floor: Version,
    /// Whether its asker still may what he asks: users may be changed while an answer lasts.
    pub still: Box<dyn Fn() -> Result<(), Rejected>>,
    /// Whether its asker has a role on the keyspace of the path.
    pub may: Box<dyn Fn(Role) -> bool>,
    /// The same on another keyspace, which the path does not name.
    pub may_on: Judge,
    /// The same as it is now, for what lasts: users may be changed meanwhile.
    pub may_now: Judge,
    /// Where to leave what serves the connection from then on.
    pub upgrading: Rc<Upgrading>,
    /// Ready when the node stops: answers that last are to end.
    pub stopping: LocalFuture<()>,
    /// Ends the connection at once, whether or not its client takes the answer.
    pub abort: Rc<Notify>,
}

/// What a capability answers to whom nobody asks who he is: the simulation, where there is no HTTP. The target is a path
/// with its query.
///
/// # Errors
/// As over HTTP.
pub async fn ask_plugged(
    services: &Rc<Services>,
    method: Method,
    target: &str,
    body: Bytes,
) -> Result<(StatusCode, Bytes), Rejected> {
    let missing = || Rejected::new(StatusCode::NOT_FOUND, "no such path");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (plug, rules) = services.plugged_rules(path).ok_or_else(missing)?;
    find(rules, &method)?;
    let ask = Ask {
        method,
        parts: parts_of(path)?,
        params: Params::of(Some(query), &HeaderMap::new())?,
        headers: HeaderMap::new(),
        body,
        who: String::new(),
        client: String::new(),
        deadline: Version::MAX,
        floor: Version(0),
        still: Box::new(|| Ok(())),
        may: Box::new(|_| true),
        may_on: Box::new(|_, _| true),
        may_now: Box::new(|_, _| true),
        upgrading: Rc::default(),
        stopping: Box::pin(std::future::pending()),
        abort: Rc::default(),
    };
    let (head, body) = plug.http(services.clone(), ask).await?.into_parts();
    let cut_short = |error: Box<dyn std::error::Error + Send + Sync>| {
        Rejected::new(StatusCode::BAD_GATEWAY, error.to_string())
    };
    let whole = body.collect().await.map_err(cut_short)?;
    Ok((head.status, whole.to_bytes()))
}

/// A path behind `/v1/`, cut at the slashes and decoded.
pub(super) fn parts_of(path: &str) -> Result<Vec<String>, Rejected> {
    let parts = path.trim_start_matches("/v1/").split('/');
    parts.map(text).collect()
}

/// Whether somebody has a role on a keyspace.
pub type Judge = Box<dyn Fn(Role, &str) -> bool>;

/// An answer of status 200 that is made as the client takes it; what is being taken counts as memory of
/// answers.
pub fn stream(services: &Rc<Services>, content_type: &'static str, chunks: Chunks) -> Reply {
    let mut held = services.shard.front().doors.account();
    let chunks = chunks.inspect_ok(move |frame| {
        held.set(frame.data_ref().map_or(0, Bytes::len));
    });
    reply::stream(content_type, chunks.boxed_local())
}

/// The same of events that come as they happen: no proxy is to gather or keep them.
pub fn live(services: &Rc<Services>, content_type: &'static str, chunks: Chunks) -> Reply {
    let mut reply = stream(services, content_type, chunks);
    let headers = reply.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    reply
}
