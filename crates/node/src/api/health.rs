//! Whether this node takes writes.

use hyper::StatusCode;
use serde_json::json;

use super::reply::{self, Reply};
use crate::shard::Shard;

/// 200 while it does; 503 with the reason while it does not.
pub(super) fn health(shard: &Shard) -> Reply {
    match shard.trouble() {
        None => reply::json(
            StatusCode::OK,
            &json!({ "status": "ok", "node": shard.config.name }),
        ),
        Some(trouble) => reply::json(
            StatusCode::SERVICE_UNAVAILABLE,
            &json!({ "status": "failing", "node": shard.config.name, "error": trouble }),
        ),
    }
}
