//! Reads and writes of one keyspace.

use std::sync::Arc;

use bytes::Bytes;
use dunlin_proto::pairs::{self, PairsBody};
use hyper::header::{ACCEPT, CONTENT_TYPE};
use hyper::{Method, StatusCode};
use serde::Deserialize;

use crate::call::{Call, Reply, Servers, encode, refusal};
use crate::changes::{Changes, Subscription};
use crate::error::ClientError;
use crate::options::{Quorum, WriteOptions};
use crate::pair_scan::PairScan;
use crate::scan::{Range, Scan};

/// The response header that carries a value's version.
const VERSION_HEADER: &str = "dunlin-version";

/// The response header that says when a value is gone.
const EXPIRES_HEADER: &str = "dunlin-expires";

/// Longer keys are parameters: encoded they take up to three times as much.
const PATH_KEY_BYTES_MAX: usize = 16 << 10;

/// A value and its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    /// The bytes as they were put.
    pub bytes: Bytes,
    /// Opaque stamp, to be given back in [`crate::Condition::Version`].
    pub version: String,
    /// When it is gone, in milliseconds since 1970; `None` where it stays.
    pub expires_at_ms: Option<u64>,
}

/// What a request stored in bulk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Stored {
    /// Pairs.
    pub pairs: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
}

/// One keyspace of a cluster. Keys are any bytes but none at all.
#[derive(Clone)]
pub struct Keyspace {
    servers: Arc<Servers>,
    path: String,
    long_key_path: String,
    bulk_path: String,
    changes_path: String,
    cursors_path: String,
    views_path: String,
    try_view_path: String,
}

impl Keyspace {
    pub(crate) fn new(servers: Arc<Servers>, name: &str) -> Keyspace {
        Keyspace {
            servers,
            path: format!("/v1/keyspaces/{}/keys", encode(name.as_bytes())),
            long_key_path: format!("/v1/keyspaces/{}/key", encode(name.as_bytes())),
            bulk_path: format!("/v1/keyspaces/{}/bulk", encode(name.as_bytes())),
            views_path: format!("/v1/keyspaces/{}/views", encode(name.as_bytes())),
            try_view_path: format!("/v1/keyspaces/{}/try-view", encode(name.as_bytes())),
            cursors_path: format!("/v1/keyspaces/{}/cursors", encode(name.as_bytes())),
            changes_path: format!("/v1/keyspaces/{}/changes", encode(name.as_bytes())),
        }
    }

    /// The newest value that `quorum` replicas know, or `None`.
    pub async fn get(&self, key: &[u8], quorum: Quorum) -> Result<Option<Value>, ClientError> {
        let mut call = self.call(Method::GET, key)?;
        quorum.add_to(&mut call);
        let reply = self.servers.reply(&call).await?;
        match reply.head.status() {
            StatusCode::OK => {
                let version = version_of(&reply)?;
                let expires = reply.head.headers().get(EXPIRES_HEADER);
                let expires = expires.and_then(|value| value.to_str().ok());
                Ok(Some(Value {
                    expires_at_ms: expires.and_then(|text| text.parse().ok()),
                    bytes: reply.body,
                    version,
                }))
            }
            StatusCode::NOT_FOUND if !names_keyspace(&reply) => Ok(None),
            _ => Err(refusal(reply)),
        }
    }

    /// Stores a value and returns its version. [`ClientError::Precondition`] when the condition
    /// does not hold.
    pub async fn put(
        &self,
        key: &[u8],
        value: Bytes,
        options: &WriteOptions,
    ) -> Result<String, ClientError> {
        let mut call = self.call(Method::PUT, key)?;
        options.add_to(&mut call);
        call.is_write = true;
        call.body(value);
        let reply = self.servers.reply(&call).await?;
        match reply.head.status() {
            StatusCode::CREATED => version_of(&reply),
            _ => Err(refusal(reply)),
        }
    }

    /// Stores many pairs with one request; succeeds when every one is acknowledged. After any
    /// failure but [`ClientError::Refused`] and [`ClientError::NotFound`] some may be stored, and
    /// sending the same again is safe.
    pub async fn bulk(&self, pairs: &PairsBody, quorum: Quorum) -> Result<Stored, ClientError> {
        let mut call = Call::new(Method::POST, self.bulk_path.clone());
        quorum.add_to(&mut call);
        call.header(CONTENT_TYPE.as_str(), pairs::CONTENT_TYPE.to_owned());
        call.is_write = true;
        call.body(pairs.body().clone());
        let reply = self.servers.reply(&call).await?;
        if reply.head.status() != StatusCode::OK {
            return Err(refusal(reply));
        }
        let protocol = |reason: String| ClientError::Protocol {
            server: reply.server.clone(),
            reason,
        };
        let stored: Stored =
            serde_json::from_slice(&reply.body).map_err(|error| protocol(error.to_string()))?;
        if (stored.pairs, stored.bytes) != (pairs.pairs(), pairs.bytes()) {
            return Err(protocol(format!(
                "it stored {} pairs of {}",
                stored.pairs,
                pairs.pairs()
            )));
        }
        Ok(stored)
    }

    /// Deletes a key; succeeds as well when it had no value. [`ClientError::Precondition`] when
    /// the condition does not hold.
    pub async fn delete(&self, key: &[u8], options: &WriteOptions) -> Result<(), ClientError> {
        let mut call = self.call(Method::DELETE, key)?;
        call.is_write = true;
        options.add_to(&mut call);
        let reply = self.servers.reply(&call).await?;
        match reply.head.status() {
            StatusCode::ACCEPTED => Ok(()),
            _ => Err(refusal(reply)),
        }
    }

    /// Reads a range in key order, as it arrives.
    pub async fn scan(&self, range: &Range, quorum: Quorum) -> Result<Scan, ClientError> {
        let mut call = Call::new(Method::GET, self.path.clone());
        range.add_to(&mut call);
        quorum.add_to(&mut call);
        Scan::open(&self.servers, &call).await
    }

    /// Reads keys and values of a range in key order, as they arrive, without versions: less work
    /// than [`Keyspace::scan`] for both sides, and as large a value as there is.
    pub async fn scan_pairs(&self, range: &Range, quorum: Quorum) -> Result<PairScan, ClientError> {
        let mut call = Call::new(Method::GET, self.path.clone());
        range.add_to(&mut call);
        quorum.add_to(&mut call);
        call.header(ACCEPT.as_str(), pairs::CONTENT_TYPE.to_owned());
        PairScan::open(&self.servers, &call).await
    }

    pub(crate) fn cursors_path(&self) -> &str {
        &self.cursors_path
    }

    pub(crate) fn views_path(&self) -> &str {
        &self.views_path
    }

    pub(crate) fn try_view_path(&self) -> &str {
        &self.try_view_path
    }

    pub(crate) fn servers(&self) -> &Arc<Servers> {
        &self.servers
    }

    pub(crate) async fn ask(&self, call: Call) -> Result<Reply, ClientError> {
        self.servers.reply(&call).await
    }

    /// Its changes, as they happen.
    pub async fn changes(&self, wanted: Subscription) -> Result<Changes, ClientError> {
        Changes::open(Arc::clone(&self.servers), self.changes_path.clone(), wanted).await
    }

    fn call(&self, method: Method, key: &[u8]) -> Result<Call, ClientError> {
        if key.is_empty() {
            return Err(ClientError::Invalid(
                "a key has at least one byte".to_owned(),
            ));
        }
        if key.len() > PATH_KEY_BYTES_MAX {
            let mut call = Call::new(method, self.long_key_path.clone());
            call.parameter_bytes("key", key);
            return Ok(call);
        }
        Ok(Call::new(method, format!("{}/{}", self.path, encode(key))))
    }
}

fn version_of(reply: &Reply) -> Result<String, ClientError> {
    reply
        .head
        .headers()
        .get(VERSION_HEADER)
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned)
        .ok_or_else(|| ClientError::Protocol {
            server: reply.server.clone(),
            reason: format!("no {VERSION_HEADER} header"),
        })
}

/// A missing key and a missing keyspace are both 404; only the latter comes with a reason.
fn names_keyspace(reply: &Reply) -> bool {
    !reply.body.is_empty()
}
