//! A range read line by line, in constant memory.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;

use crate::call::{Call, Servers};
use crate::error::ClientError;
use crate::lines::Lines;

/// Which keys a scan returns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Range {
    /// First key wanted; empty begins at the first there is.
    pub start: Bytes,
    /// First key no longer wanted; `None` goes to the end.
    pub end: Option<Bytes>,
    /// Only keys that begin with this.
    pub prefix: Option<Bytes>,
    /// At most this many entries.
    pub limit: Option<u64>,
}

impl Range {
    pub(crate) fn add_to(&self, call: &mut Call) {
        call.parameter_bytes("start", &self.start);
        if let Some(end) = &self.end {
            call.parameter_bytes("end", end);
        }
        if let Some(prefix) = &self.prefix {
            call.parameter_bytes("prefix", prefix);
        }
        if let Some(limit) = self.limit {
            call.parameter("limit", &limit.to_string());
        }
    }
}

/// One key of a scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: Bytes,
    /// Its value.
    pub value: Bytes,
    /// Its version, as in [`crate::Value::version`].
    pub version: String,
    /// When it is gone, in milliseconds since 1970; `None` where it stays.
    pub expires_at_ms: Option<u64>,
}

/// A running scan; dropping it ends it.
pub struct Scan(Lines);

impl Scan {
    pub(crate) async fn open(servers: &Servers, call: &Call) -> Result<Scan, ClientError> {
        Lines::open(servers, call).await.map(Scan)
    }

    /// The next entry in key order, or `None` after the last. A scan that breaks off is an
    /// error, never an early end; begin again after the last key received.
    pub async fn next(&mut self) -> Result<Option<Entry>, ClientError> {
        match self.0.next().await? {
            Some(line) => self.decode(&line).map(Some),
            None => Ok(None),
        }
    }

    fn decode(&self, line: &[u8]) -> Result<Entry, ClientError> {
        /// Borrows what needs no unescaping: a value may be large.
        #[derive(Deserialize)]
        struct Line<'a> {
            error: Option<String>,
            key: Option<String>,
            #[serde(borrow)]
            key_base64: Option<Cow<'a, str>>,
            value: Option<String>,
            #[serde(borrow)]
            value_base64: Option<Cow<'a, str>>,
            #[serde(default)]
            version: String,
            expires_at_ms: Option<u64>,
        }
        let protocol = |reason: String| self.0.answer.protocol(reason);
        let line: Line =
            serde_json::from_slice(line).map_err(|error| protocol(error.to_string()))?;
        // The status has long been sent when a scan fails on its way: the last line says why.
        if let Some(message) = line.error {
            return Err(ClientError::Unavailable {
                server: self.0.answer.server().to_owned(),
                status: 500,
                message,
            });
        }
        let either =
            |name: &str, text: Option<String>, coded: Option<Cow<'_, str>>| match (text, coded) {
                (Some(text), None) => Ok(Bytes::from(text)),
                (None, Some(coded)) => STANDARD
                    .decode(&*coded)
                    .map(Bytes::from)
                    .map_err(|error| protocol(format!("{name}_base64: {error}"))),
                _ => Err(protocol(format!(
                    "a line with neither {name} nor {name}_base64, or with both"
                ))),
            };
        Ok(Entry {
            key: either("key", line.key, line.key_base64)?,
            value: either("value", line.value, line.value_base64)?,
            version: line.version,
            expires_at_ms: line.expires_at_ms,
        })
    }
}
