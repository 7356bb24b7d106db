//! Numbers that are added to the values of keys.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::{Method, StatusCode};
use serde::Deserialize;
use serde_json::json;

use crate::attempt::local_ms;
use crate::call::{Call, refusal};
use crate::client::Client;
use crate::error::ClientError;
use crate::transactions::{begin_anew, parse};

/// A sum that was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// The sum; none where an earlier attempt, whose answer was lost, has stored it.
    pub value: Option<i64>,
    /// Its version.
    pub version: String,
}

#[derive(Deserialize)]
struct Reply {
    #[serde(default)]
    added: Vec<Sum>,
    version: String,
}

#[derive(Deserialize)]
struct Sum {
    value: String,
}

impl Client {
    /// Adds a number to the value of a key of a transactional keyspace, a decimal number of 64 bits; no value counts as 0.
    /// However often the request is sent, it is added once.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), dunlin_client::ClientError> {
    /// let client = dunlin_client::Client::new("http://127.0.0.1:8080")?;
    /// let hits = client.add("counters", b"hits", 1).await?.value;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`ClientError::Refused`] when the value is no such number; [`ClientError::Conflict`] when others were in the way.
    pub async fn add(&self, keyspace: &str, key: &[u8], number: i64) -> Result<Added, ClientError> {
        let id = format!("{}-{:016x}", local_ms(), chance());
        let mut write = json!({"keyspace": keyspace, "add": number});
        match std::str::from_utf8(key) {
            Ok(key) => write["key"] = key.into(),
            Err(_) => write["key_base64"] = STANDARD.encode(key).into(),
        }
        let mut call = Call::new(Method::POST, "/v1/txn".to_owned());
        call.json(
            json!({"writes": [write], "id": id})
                .to_string()
                .into_bytes(),
        );
        let reply = self.servers().reply(&call).await?;
        match reply.head.status() {
            StatusCode::OK => {}
            StatusCode::CONFLICT => return Err(begin_anew(refusal(reply))),
            _ => return Err(refusal(reply)),
        }
        let Reply { added, version } = parse(&reply)?;
        let value = added.first().and_then(|sum| sum.value.parse().ok());
        Ok(Added { value, version })
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "ids are to differ between clients; the client is outside the simulation"
)]
pub(crate) fn chance() -> u64 {
    rand::random()
}
