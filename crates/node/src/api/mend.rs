//! `/v1/keyspaces/{name}/mend-stamps`: what is stored under stamps far ahead. GET tells, POST mends.

use std::rc::Rc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::error::Rejected;
use super::params::Params;
use super::reply::{self, Reply};
use super::scan::put_bytes;
use crate::quorum::{Coordinator, FarRecord, MendError, Mended};

/// As much as fits into some seconds, from the beginning or from where `from` says.
pub(super) async fn mend(
    coordinator: &Rc<Coordinator>,
    method: &Method,
    name: &str,
    params: Params,
) -> Result<Reply, Rejected> {
    let is_mending = match *method {
        Method::GET | Method::HEAD => false,
        Method::POST => true,
        _ => return Err(Rejected::method()),
    };
    let first = match params.get("from") {
        None => (0, Bytes::new()),
        Some(from) => {
            place(from).ok_or_else(|| Rejected::bad("from must be the next of an answer"))?
        }
    };
    let shard = coordinator.shard();
    let keyspace = shard.placement().named(name).map(|k| k.keyspace.id);
    let keyspace = keyspace.ok_or_else(|| {
        let line = format!("there is no keyspace {name}");
        Rejected::new(StatusCode::NOT_FOUND, line)
    })?;
    let mended = coordinator.mend_stamps(keyspace, first, is_mending).await?;
    let now_ms = shard.env().clock.now_ms();
    Ok(reply::json(StatusCode::OK, &report(mended, now_ms)))
}

fn report(mended: Mended, now_ms: u64) -> Value {
    let records = mended.records.iter().map(|record| one(record, now_ms));
    json!({
        "found": mended.found,
        "mended": mended.mended,
        "records": records.collect::<Vec<_>>(),
        "filling": mended.filling,
        "next": mended.next.map(|(partition, key)| text(partition, &key)),
    })
}

/// A place as text: `PARTITION-KEY`, the key in base64.
fn text(partition: u16, key: &[u8]) -> String {
    format!("{partition}-{}", STANDARD.encode(key))
}

fn place(text: &[u8]) -> Option<(u16, Bytes)> {
    let (partition, key) = std::str::from_utf8(text).ok()?.split_once('-')?;
    Some((partition.parse().ok()?, STANDARD.decode(key).ok()?.into()))
}

fn one(record: &FarRecord, now_ms: u64) -> Value {
    let mut object = Map::new();
    put_bytes(&mut object, "key", &record.key);
    let millis = record.version.millis();
    object.insert("stamped_ms".into(), millis.into());
    object.insert("ahead_ms".into(), millis.saturating_sub(now_ms).into());
    object.insert("is_delete".into(), record.is_delete.into());
    Value::Object(object)
}

impl From<MendError> for Rejected {
    fn from(error: MendError) -> Self {
        let line = error.to_string();
        match error {
            MendError::Failed(failure) => Rejected::from(failure),
            MendError::Silent { .. } | MendError::Changing => {
                Rejected::new(StatusCode::CONFLICT, line)
            }
        }
    }
}

#[cfg(test)]
#[path = "mend_tests.rs"]
mod tests;
