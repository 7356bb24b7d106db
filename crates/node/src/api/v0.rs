//! `/v0/entity` and `/v0/entities`: the keyspace `default`, one line of text for an error.

use std::rc::Rc;

use dunlin_proto::Condition;
use hyper::{Method, Request};

use super::attempt::Attempt;
use super::error::Rejected;
use super::params::Params;
use super::reply::Reply;
use super::upload::Upload;
use super::{keys, scan};
use crate::quorum::Coordinator;
use crate::shard::Arrivals;

/// The keyspace of these paths.
pub(super) const KEYSPACE: &str = "default";

/// One entity: `GET`, `HEAD`, `PUT`, `DELETE`.
pub(super) async fn entity(
    coordinator: Rc<Coordinator>,
    arrivals: &Rc<Arrivals>,
    request: Request<Upload>,
    params: Params,
) -> Result<Reply, Rejected> {
    let method = request.method().clone();
    if !matches!(
        method,
        Method::GET | Method::HEAD | Method::PUT | Method::DELETE
    ) {
        return Err(Rejected::method());
    }
    let key = params.required("id")?;
    let shard = coordinator.shard();
    let target = keys::Target::find(shard, KEYSPACE, key, &params)?;
    match method {
        Method::PUT => {
            let attempt = Attempt::new(shard, arrivals, request.headers())?;
            keys::put(
                &coordinator,
                request,
                target,
                None,
                Condition::None,
                attempt,
            )
            .await
        }
        Method::DELETE => {
            let attempt = Attempt::new(shard, arrivals, request.headers())?;
            keys::delete(&coordinator, target, Condition::None, attempt).await
        }
        _ => keys::get(&coordinator, target, request.headers()).await,
    }
}

/// A range: every record is one chunk `key\nvalue`.
pub(super) async fn entities(
    coordinator: Rc<Coordinator>,
    method: &Method,
    params: Params,
) -> Result<Reply, Rejected> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Err(Rejected::method());
    }
    let start = params.required("start")?;
    let end = params.get("end").filter(|end| !end.is_empty()).cloned();
    scan::entities(&coordinator, KEYSPACE, start, end, &params).await
}
