//! Transactions over several requests, and what tries them again.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hyper::{Method, StatusCode};
use serde::Deserialize;
use tokio::time::sleep;

use crate::call::{Call, Reply, Servers, encode, refusal};
use crate::client::Client;
use crate::error::ClientError;
use crate::scan::{Entry, Range, Scan};

/// How often [`Client::transact`] begins anew.
const ATTEMPTS_MAX: u32 = 20;
/// First pause before it does, and the longest, in milliseconds.
const PAUSE_MS: u64 = 5;
const PAUSE_MS_MAX: u64 = 500;
/// How often it is asked what became of a commit whose answer was lost.
pub(crate) const ASKED_MAX: u32 = 30;
/// Pause before it is asked again.
pub(crate) const ASKED_PAUSE: Duration = Duration::from_millis(200);

/// A transaction over keys of transactional keyspaces. Reads see everything as it was when it began, and what it has
/// written itself; nobody else sees that before [`Transaction::commit`]. Clones are the same. Dropped without a
/// commit, it is aborted when it was not used for a while.
#[derive(Clone)]
pub struct Transaction {
    servers: Arc<Servers>,
    path: String,
    /// The key that it wrote first, with its keyspace: that is how its record is found.
    first: Arc<Mutex<Option<Vec<u8>>>>,
}

#[derive(Deserialize)]
struct Begun {
    id: String,
}

#[derive(Deserialize)]
struct State {
    state: String,
    version: Option<String>,
}

impl Client {
    /// Begins a transaction. [`Client::transact`] tries again what conflicts.
    pub async fn begin(&self) -> Result<Transaction, ClientError> {
        // It may be sent again: one that nobody uses goes by itself.
        let call = Call::new(Method::POST, "/v1/txn/begin".to_owned());
        let reply = self.servers().reply(&call).await?;
        if reply.head.status() != StatusCode::CREATED {
            return Err(refusal(reply));
        }
        let begun: Begun = parse(&reply)?;
        Ok(Transaction {
            servers: Arc::clone(self.servers()),
            path: format!("/v1/txn/{}", encode(begun.id.as_bytes())),
            first: Arc::default(),
        })
    }

    /// Does what `body` does with a transaction as one, and commits it. `body` runs again from the beginning while others
    /// are in the way, or a node was lost before the commit; what it does beside the transaction is to bear that. Its
    /// own error aborts the transaction and is returned.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), dunlin_client::ClientError> {
    /// let client = dunlin_client::Client::new("http://127.0.0.1:8080")?;
    /// client.transact(|txn| async move {
    ///     let balance = txn.get("bank", b"ann").await?.unwrap_or_default();
    ///     txn.put("bank", b"copy", balance).await
    /// }).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`ClientError::Conflict`] when others were in the way each time; [`ClientError::Ambiguous`] when nobody could
    /// tell whether it was committed.
    pub async fn transact<T, F>(
        &self,
        mut body: impl FnMut(Transaction) -> F,
    ) -> Result<T, ClientError>
    where
        F: Future<Output = Result<T, ClientError>>,
    {
        tried_again(async || {
            let txn = self.begin().await?;
            match body(txn.clone()).await {
                Ok(done) => txn.commit().await.map(|_| done),
                Err(error) => {
                    // It goes by itself where this does not arrive.
                    drop(txn.abort().await);
                    Err(error)
                }
            }
        })
        .await
    }
}

/// Does something until nobody is in the way.
pub(crate) async fn tried_again<T>(
    mut attempt: impl AsyncFnMut() -> Result<T, ClientError>,
) -> Result<T, ClientError> {
    let mut pause_ms = PAUSE_MS;
    let mut attempts = 0;
    loop {
        attempts += 1;
        match attempt().await {
            Err(ClientError::Conflict(_)) if attempts < ATTEMPTS_MAX => {}
            // Nothing was written: a commit that may have been made is told otherwise.
            Err(error) if error.is_retryable() && attempts < ATTEMPTS_MAX => {}
            done => return done,
        }
        sleep(Duration::from_millis(pause_ms)).await;
        pause_ms = (2 * pause_ms).min(PAUSE_MS_MAX);
    }
}

impl Transaction {
    /// Its name at the servers.
    pub fn id(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// The value of a key, if it has one.
    pub async fn get(&self, keyspace: &str, key: &[u8]) -> Result<Option<Bytes>, ClientError> {
        value_of(self.reply(&self.call(Method::GET, keyspace, key)).await?)
    }

    /// The value of a key, read when it is this transaction's turn to use it: so those that lock the same key do not
    /// conflict with each other. It must be the first read; a transaction locks one key. The lock ends with the
    /// transaction, or after a second, and nothing relies on it.
    pub async fn get_locked(
        &self,
        keyspace: &str,
        key: &[u8],
    ) -> Result<Option<Bytes>, ClientError> {
        let mut call = self.call(Method::GET, keyspace, key);
        call.parameter("lock", "true");
        value_of(self.reply(&call).await?)
    }

    /// A key is to have this value.
    pub async fn put(&self, keyspace: &str, key: &[u8], value: Bytes) -> Result<(), ClientError> {
        let mut call = self.call(Method::PUT, keyspace, key);
        call.body(value);
        self.write(call, keyspace, key).await
    }

    /// A key is to have none.
    pub async fn delete(&self, keyspace: &str, key: &[u8]) -> Result<(), ClientError> {
        let call = self.call(Method::DELETE, keyspace, key);
        self.write(call, keyspace, key).await
    }

    /// Keys of a range in order, at most 1,000 unless it says otherwise. An entry that the transaction wrote itself has no
    /// version.
    pub async fn scan(&self, keyspace: &str, range: &Range) -> Result<Vec<Entry>, ClientError> {
        let path = format!(
            "{}/keyspaces/{}/keys",
            self.path,
            encode(keyspace.as_bytes())
        );
        let mut call = Call::new(Method::GET, path);
        range.add_to(&mut call);
        let mut scan = Scan::open(&self.servers, &call).await.map_err(begin_anew)?;
        let mut entries = Vec::new();
        while let Some(entry) = scan.next().await? {
            entries.push(entry);
        }
        Ok(entries)
    }

    /// Writes all that it has written, or nothing; its version. A lost answer is asked for until somebody can tell.
    ///
    /// # Errors
    /// [`ClientError::Conflict`] when nothing was written and it is to begin anew; [`ClientError::Ambiguous`] when nobody
    /// could tell.
    pub async fn commit(&self) -> Result<Option<String>, ClientError> {
        let first = self
            .first
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let Some(first) = first else {
            // Nothing was written, and what was read is what there was.
            drop(self.abort().await);
            return Ok(None);
        };
        // It may be sent again: its record says what became of it, however often that is asked.
        let mut call = Call::new(Method::POST, format!("{}/commit", self.path));
        call.parameter_bytes("first", &first);
        let mut asked = 0;
        loop {
            let reply = match self.servers.reply(&call).await {
                Ok(reply) if reply.head.status() == StatusCode::GATEWAY_TIMEOUT => {
                    Err(refusal(reply))
                }
                Ok(reply) => Ok(reply),
                Err(error) if error.is_retryable() => Err(error),
                Err(error) => return Err(error),
            };
            match reply {
                Ok(reply) if reply.head.status() == StatusCode::OK => {
                    let told: State = parse(&reply)?;
                    return match told.state.as_str() {
                        "committed" => Ok(told.version),
                        other => Err(protocol(&reply, format!("its state is {other}"))),
                    };
                }
                Ok(reply) => return Err(refused(reply)),
                Err(error) if asked >= ASKED_MAX => {
                    return Err(ClientError::Ambiguous {
                        server: self.path.clone(),
                        reason: error.to_string(),
                    });
                }
                Err(_) => {
                    asked += 1;
                    sleep(ASKED_PAUSE).await;
                }
            }
        }
    }

    /// Gives it up: nothing of it happens.
    pub async fn abort(&self) -> Result<(), ClientError> {
        let call = Call::new(Method::POST, format!("{}/abort", self.path));
        let reply = self.reply(&call).await?;
        match reply.head.status() {
            StatusCode::OK | StatusCode::GONE => Ok(()),
            _ => Err(refused(reply)),
        }
    }

    fn call(&self, method: Method, keyspace: &str, key: &[u8]) -> Call {
        let (keyspace, key) = (encode(keyspace.as_bytes()), encode(key));
        Call::new(
            method,
            format!("{}/keyspaces/{keyspace}/keys/{key}", self.path),
        )
    }

    async fn reply(&self, call: &Call) -> Result<Reply, ClientError> {
        self.servers.reply(call).await
    }

    async fn write(&self, call: Call, keyspace: &str, key: &[u8]) -> Result<(), ClientError> {
        let reply = self.reply(&call).await?;
        if reply.head.status() != StatusCode::ACCEPTED {
            return Err(refused(reply));
        }
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| [keyspace.as_bytes(), b"/", key].concat());
        Ok(())
    }
}

fn refused(reply: Reply) -> ClientError {
    begin_anew(refusal(reply))
}

/// Of refusals 409 and 410 say that nothing was written, and that it is to begin anew.
pub(crate) fn begin_anew(error: ClientError) -> ClientError {
    match error {
        ClientError::Refused {
            status: 409 | 410,
            message,
        } => ClientError::Conflict(message),
        error => error,
    }
}

/// The value in an answer, if there is one.
fn value_of(reply: Reply) -> Result<Option<Bytes>, ClientError> {
    match reply.head.status() {
        StatusCode::OK => Ok(Some(reply.body)),
        StatusCode::NOT_FOUND if is_key(&reply) => Ok(None),
        _ => Err(refused(reply)),
    }
}

/// Whether it is the key that is not there, rather than its keyspace.
fn is_key(reply: &Reply) -> bool {
    String::from_utf8_lossy(&reply.body).contains("no such key\"")
}

fn protocol(reply: &Reply, reason: String) -> ClientError {
    ClientError::Protocol {
        server: reply.server.clone(),
        reason,
    }
}

pub(crate) fn parse<T: serde::de::DeserializeOwned>(reply: &Reply) -> Result<T, ClientError> {
    serde_json::from_slice(&reply.body).map_err(|error| protocol(reply, error.to_string()))
}
