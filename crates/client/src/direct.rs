//! Transactions without HTTP between: a read is one request, a commit is one, and nothing else is sent.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_proto::{
    DirectCommit, DirectId, DirectKey, DirectReply, DirectRequest, DirectResponse, DirectSpan,
};
use dunlin_rpc::CallError;
use hyper::StatusCode;
use tokio::sync::RwLock;
use tokio::time::sleep;

use crate::add::chance;
use crate::attempt::local_ms;
use crate::call::refused_as;
use crate::client::Client;
use crate::error::ClientError;
use crate::transactions::{ASKED_MAX, ASKED_PAUSE, begin_anew, tried_again};

mod connections;
mod leaders;
mod thread;

pub use thread::DirectThread;

use connections::{Connections, DirectConnection};

/// Keys of a scan that are read at once.
const PAGE: usize = 1_000;

/// Transactions over connections of their own: to the shards that lead the ranges of their first keys, once answers have
/// said which these are. Clones share them; all stay on one thread, inside a `tokio::task::LocalSet`.
///
/// ```no_run
/// # async fn example() -> Result<(), dunlin_client::ClientError> {
/// let client = dunlin_client::Client::new("http://127.0.0.1:8080")?;
/// let direct = client.direct();
/// direct.transact(async |txn| {
///     let balance = txn.get("bank", b"ann").await?.unwrap_or_default();
///     txn.put("bank", b"copy", balance)
/// }).await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Direct(Rc<Connections>);

impl Client {
    /// Transactions without HTTP between. It connects with the first request.
    pub fn direct(&self) -> Direct {
        Direct(Connections::new(Arc::clone(self.servers())))
    }
}

impl Direct {
    /// A transaction, of which nothing is sent yet.
    pub fn begin(&self) -> DirectTransaction {
        let id = DirectId {
            ms: local_ms(),
            number: u128::from(chance()) << 64 | u128::from(chance()),
        };
        DirectTransaction(Rc::new(Inner {
            direct: self.clone(),
            id,
            at: Cell::new(None),
            reads: RefCell::default(),
            scans: RefCell::default(),
            writes: RefCell::default(),
            first: RefCell::default(),
            named: RefCell::default(),
            bound: RefCell::default(),
            steps: RwLock::new(()),
            has_ended: Cell::new(false),
            has_lock: Cell::new(false),
        }))
    }

    /// Does what `body` does with a transaction as one, and commits it; as [`Client::transact`].
    ///
    /// # Errors
    /// [`ClientError::Conflict`] when others were in the way each time; [`ClientError::Ambiguous`] when nobody could
    /// tell whether it was committed.
    pub async fn transact<T>(
        &self,
        mut body: impl AsyncFnMut(DirectTransaction) -> Result<T, ClientError>,
    ) -> Result<T, ClientError> {
        tried_again(async || {
            let txn = self.begin();
            let done = body(txn.clone()).await;
            match done {
                Ok(done) => txn.commit().await.map(|_| done),
                Err(error) => {
                    txn.abort();
                    Err(error)
                }
            }
        })
        .await
    }
}

/// A request that was not answered.
fn lost(server: String, after: Duration, error: &CallError) -> ClientError {
    match error {
        CallError::Timeout(_) => ClientError::Timeout { server, after },
        CallError::TooLarge { .. } => ClientError::Invalid(error.to_string()),
        CallError::Protocol(reason) => ClientError::Protocol {
            server,
            reason: reason.clone(),
        },
        _ => ClientError::Interrupted {
            server,
            reason: error.to_string(),
        },
    }
}

/// A transaction over keys of transactional keyspaces. Reads see everything as it was at the first of them, and what it has
/// written itself; nobody else sees that before [`DirectTransaction::commit`]. Writes are kept here until then. Clones are
/// the same. Dropped without a commit, nothing of it has happened.
#[derive(Clone)]
pub struct DirectTransaction(Rc<Inner>);

struct Inner {
    direct: Direct,
    id: DirectId,
    /// The timestamp of its reads.
    at: Cell<Option<Version>>,
    /// Keys that it has read, with their versions.
    reads: RefCell<BTreeMap<DirectKey, Option<Version>>>,
    scans: RefCell<Vec<DirectSpan>>,
    writes: RefCell<BTreeMap<DirectKey, Option<Bytes>>>,
    /// What it wrote first.
    first: RefCell<Option<DirectKey>>,
    /// The keyspace that was named last.
    named: RefCell<Option<Arc<str>>>,
    /// The connection of its requests, so that its timestamp and its lock are known there.
    bound: RefCell<Option<DirectConnection>>,
    /// Held by each read, by the first and the commit alone.
    steps: RwLock<()>,
    has_ended: Cell<bool>,
    has_lock: Cell<bool>,
}

impl Inner {
    fn key_of(&self, keyspace: &str, key: &[u8]) -> DirectKey {
        let mut named = self.named.borrow_mut();
        let name = match &*named {
            Some(name) if **name == *keyspace => name.clone(),
            _ => named.insert(keyspace.into()).clone(),
        };
        DirectKey {
            keyspace: name,
            key: Bytes::copy_from_slice(key),
        }
    }

    /// The connection of its requests: to the leader of the first key.
    async fn connection(&self, key: &DirectKey) -> Result<DirectConnection, ClientError> {
        let bound = self.bound.borrow().clone();
        if let Some(bound) = bound.filter(|bound| bound.caller.is_connected()) {
            return Ok(bound);
        }
        let best = self.direct.0.best(key).await?;
        self.bound.replace(Some(best.clone()));
        Ok(best)
    }

    /// Sends a request that may be sent again: to another server where one cannot answer.
    async fn ask(
        &self,
        key: &DirectKey,
        request: &DirectRequest,
    ) -> Result<DirectResponse, ClientError> {
        // A leader may be none of the servers that were given.
        let mut tries = self.direct.0.servers.count() + 1;
        loop {
            let answered = match self.connection(key).await {
                Ok(connection) => self.ask_once(&connection, request).await,
                Err(error) => Err(error),
            };
            tries = tries.saturating_sub(1);
            match answered {
                Err(error) if error.is_retryable() && tries > 0 => self.leave(),
                answered => return answered,
            }
        }
    }

    async fn ask_once(
        &self,
        connection: &DirectConnection,
        request: &DirectRequest,
    ) -> Result<DirectResponse, ClientError> {
        let time = self.direct.0.servers.timeout;
        let server = || connection.server.clone();
        let DirectReply { response, leader } =
            match connection.caller.call(request.clone(), time).await {
                Ok(reply) => reply,
                Err(error) => return Err(lost(server(), time, &error)),
            };
        if let Some(leader) = leader {
            self.direct.0.learn(leader);
        }
        match response {
            DirectResponse::Refused(status, line) => {
                let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
                Err(begin_anew(refused_as(status, server(), line)))
            }
            response => Ok(response),
        }
    }

    /// Goes on at the next server.
    fn leave(&self) {
        if let Some(bound) = self.bound.take() {
            self.direct.0.leave(&bound);
        }
    }
}

/// A key with its value, by a scan.
pub type DirectRow = (Bytes, Bytes);

impl DirectTransaction {
    /// The value of a key, if it has one.
    ///
    /// # Errors
    /// [`ClientError::Conflict`] when the transaction has lasted too long.
    pub async fn get(&self, keyspace: &str, key: &[u8]) -> Result<Option<Bytes>, ClientError> {
        let mut values = self.get_many(&[(keyspace, key)]).await?;
        Ok(values.pop().flatten())
    }

    /// The values of several keys, read with one request.
    ///
    /// # Errors
    /// As [`DirectTransaction::get`].
    pub async fn get_many(
        &self,
        keys: &[(&str, &[u8])],
    ) -> Result<Vec<Option<Bytes>>, ClientError> {
        let keys = keys.iter();
        let keys = keys.map(|(keyspace, key)| self.0.key_of(keyspace, key));
        self.read(keys.collect(), false).await
    }

    /// The value of a key, read when it is this transaction's turn to use it, as
    /// [`Transaction::get_locked`](crate::Transaction::get_locked). It must be the first read.
    ///
    /// # Errors
    /// [`ClientError::Unavailable`] when the turn does not come in time.
    pub async fn get_locked(
        &self,
        keyspace: &str,
        key: &[u8],
    ) -> Result<Option<Bytes>, ClientError> {
        let mut values = self.get_many_locked(&[(keyspace, key)]).await?;
        Ok(values.pop().flatten())
    }

    /// The values of several keys, read with one request when it is this transaction's turn to use the first of them. It must be
    /// the first read.
    ///
    /// # Errors
    /// As [`DirectTransaction::get_locked`].
    pub async fn get_many_locked(
        &self,
        keys: &[(&str, &[u8])],
    ) -> Result<Vec<Option<Bytes>>, ClientError> {
        let keys = keys.iter();
        let keys = keys.map(|(keyspace, key)| self.0.key_of(keyspace, key));
        self.read(keys.collect(), true).await
    }

    async fn read(
        &self,
        keys: Vec<DirectKey>,
        lock: bool,
    ) -> Result<Vec<Option<Bytes>>, ClientError> {
        self.check_open()?;
        let unwritten = {
            let writes = self.0.writes.borrow();
            let wanted = keys.iter().filter(|key| !writes.contains_key(*key));
            wanted.cloned().collect::<Vec<_>>()
        };
        let mut found = BTreeMap::new();
        if !unwritten.is_empty() {
            let request = |at| DirectRequest::Read {
                at,
                lock,
                keys: unwritten.clone(),
            };
            let answer = self.step(&unwritten[0], request).await?;
            let DirectResponse::Values(_, values) = answer else {
                return Err(self.out_of_turn());
            };
            if values.len() != unwritten.len() {
                return Err(self.out_of_turn());
            }
            self.0.has_lock.set(self.0.has_lock.get() || lock);
            let mut reads = self.0.reads.borrow_mut();
            for (key, value) in unwritten.into_iter().zip(values) {
                reads.insert(key.clone(), value.as_ref().map(|(version, _)| *version));
                found.insert(key, value.map(|(_, value)| value));
            }
        }
        let writes = self.0.writes.borrow();
        let value = |key: &DirectKey| match writes.get(key) {
            Some(written) => written.clone(),
            None => found.get(key).cloned().flatten(),
        };
        Ok(keys.iter().map(value).collect())
    }

    /// Up to so many keys from `start` to before `end` in order, with their values; of the whole keyspace where these are
    /// none.
    ///
    /// # Errors
    /// As [`DirectTransaction::get`].
    pub async fn scan(
        &self,
        keyspace: &str,
        start: &[u8],
        end: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<DirectRow>, ClientError> {
        self.check_open()?;
        let whole = DirectSpan {
            keyspace: keyspace.to_owned(),
            start: Bytes::copy_from_slice(start),
            end: end.map(Bytes::copy_from_slice),
        };
        let mut rows = self.written(&whole);
        let (mut next, mut stored) = (Some(whole.start.clone()), 0);
        // Its own writes may replace or delete stored values.
        let wanted = limit + rows.len();
        while let Some(start) = &next
            && stored < wanted
        {
            let request = |at| DirectRequest::Page {
                at,
                span: DirectSpan {
                    start: start.clone(),
                    ..whole.clone()
                },
                limit: (wanted - stored).min(PAGE) as u32,
            };
            let key = self.0.key_of(&whole.keyspace, start);
            let DirectResponse::Page(_, page, rest) = self.step(&key, request).await? else {
                return Err(self.out_of_turn());
            };
            stored += page.len();
            for (key, _, value) in page {
                rows.entry(key).or_insert(Some(value));
            }
            next = rest;
        }
        // Others may write behind the last key that it has read.
        let scanned = DirectSpan {
            end: next.or(whole.end.clone()),
            ..whole
        };
        let behind = scanned.end.clone();
        self.0.scans.borrow_mut().push(scanned);
        let within =
            |(key, _): &(Bytes, Option<Bytes>)| behind.as_ref().is_none_or(|end| key < end);
        let rows = rows.into_iter().filter(within);
        let rows = rows.filter_map(|(key, value)| Some((key, value?)));
        Ok(rows.take(limit).collect())
    }

    /// A read at the transaction's timestamp. The first brings it, and others wait for that.
    async fn step(
        &self,
        key: &DirectKey,
        request: impl Fn(Option<Version>) -> DirectRequest,
    ) -> Result<DirectResponse, ClientError> {
        let inner = &self.0;
        let (mut first, mut others) = (None, None);
        if inner.at.get().is_none() {
            first = Some(inner.steps.write().await);
        } else {
            others = Some(inner.steps.read().await);
        }
        self.check_open()?;
        let wanted = inner.at.get();
        let answer = inner.ask(key, &request(wanted)).await?;
        let (DirectResponse::Values(at, _) | DirectResponse::Page(at, ..)) = &answer else {
            return Err(self.out_of_turn());
        };
        if wanted.is_some_and(|wanted| wanted != *at) {
            return Err(self.out_of_turn());
        }
        inner.at.set(Some(*at));
        drop((first.take(), others.take()));
        Ok(answer)
    }

    /// What it has written itself of these keys.
    fn written(&self, span: &DirectSpan) -> BTreeMap<Bytes, Option<Bytes>> {
        let writes = self.0.writes.borrow();
        let within = |key: &DirectKey| {
            *key.keyspace == *span.keyspace
                && key.key >= span.start
                && span.end.as_ref().is_none_or(|end| key.key < *end)
        };
        let written = writes.iter().filter(|(key, _)| within(key));
        written
            .map(|(key, value)| (key.key.clone(), value.clone()))
            .collect()
    }

    /// A key is to have this value. Nothing is sent before the commit.
    ///
    /// # Errors
    /// [`ClientError::Invalid`] when the transaction has ended.
    pub fn put(&self, keyspace: &str, key: &[u8], value: Bytes) -> Result<(), ClientError> {
        self.write(keyspace, key, Some(value))
    }

    /// A key is to have none.
    ///
    /// # Errors
    /// [`ClientError::Invalid`] when the transaction has ended.
    pub fn delete(&self, keyspace: &str, key: &[u8]) -> Result<(), ClientError> {
        self.write(keyspace, key, None)
    }

    fn write(&self, keyspace: &str, key: &[u8], value: Option<Bytes>) -> Result<(), ClientError> {
        self.check_open()?;
        let key = self.0.key_of(keyspace, key);
        let mut first = self.0.first.borrow_mut();
        first.get_or_insert_with(|| key.clone());
        self.0.writes.borrow_mut().insert(key, value);
        Ok(())
    }

    /// Writes all that it has written, or nothing; its timestamp, which is none where it has written nothing. Where the
    /// answer is lost, it requests the outcome until a node has it.
    ///
    /// # Errors
    /// [`ClientError::Conflict`] when nothing was written and it is to begin anew; [`ClientError::Ambiguous`] when nobody
    /// could tell.
    pub async fn commit(&self) -> Result<Option<Version>, ClientError> {
        // Reads that are under way are a part of it.
        let _steps = self.0.steps.write().await;
        self.check_open()?;
        let Some(first) = self.0.first.borrow().clone() else {
            self.abort();
            return Ok(None);
        };
        self.0.has_ended.set(true);
        let reads = self.0.reads.borrow().clone();
        let mut writes = self.0.writes.borrow().clone();
        let of_first = writes.remove(&first);
        let in_order = of_first.map(|value| (first.clone(), value));
        let request = DirectRequest::Commit(DirectCommit {
            at: self.0.at.get(),
            reads: reads.into_iter().collect(),
            scans: self.0.scans.borrow().clone(),
            writes: in_order.into_iter().chain(writes).collect(),
            id: self.0.id,
        });
        let sent = async {
            let connection = self.0.connection(&first).await?;
            self.0.ask_once(&connection, &request).await
        };
        match sent.await {
            Ok(DirectResponse::Committed(at)) => Ok(Some(at)),
            Ok(_) => Err(self.out_of_turn()),
            // Nothing was sent.
            Err(error @ ClientError::Unreachable { .. }) => Err(error),
            Err(
                ClientError::NotEnoughReplicas(_)
                | ClientError::Timeout { .. }
                | ClientError::Interrupted { .. },
            ) => self.outcome(first).await,
            Err(error) => Err(error),
        }
    }

    /// What became of it: it is aborted unless it has committed.
    async fn outcome(&self, first: DirectKey) -> Result<Option<Version>, ClientError> {
        let request = DirectRequest::Outcome {
            id: self.0.id,
            first: first.clone(),
        };
        let mut tries = 0;
        loop {
            let error = match self.0.ask(&first, &request).await {
                Ok(DirectResponse::Committed(at)) => return Ok(Some(at)),
                Ok(_) => return Err(self.out_of_turn()),
                Err(error @ ClientError::Conflict(_)) => return Err(error),
                Err(error) => error,
            };
            tries += 1;
            if !error.is_retryable() || tries >= ASKED_MAX {
                return Err(ClientError::Ambiguous {
                    server: self.server(),
                    reason: error.to_string(),
                });
            }
            self.0.leave();
            sleep(ASKED_PAUSE).await;
        }
    }

    /// Gives it up: nothing of it happens, and others have their turn at the key that it locked.
    pub fn abort(&self) {
        self.0.has_ended.set(true);
        let bound = self.0.bound.borrow();
        if let (true, Some(at), Some(bound)) = (self.0.has_lock.get(), self.0.at.get(), &*bound) {
            let time = self.0.direct.0.servers.timeout;
            let unlocked = bound.caller.call(DirectRequest::Unlock(at), time);
            tokio::task::spawn_local(async move {
                // The lock ends by itself where this does not arrive.
                drop(unlocked.await);
            });
        }
    }

    fn check_open(&self) -> Result<(), ClientError> {
        if self.0.has_ended.get() {
            return Err(ClientError::Invalid(
                "this transaction has ended: begin another".to_owned(),
            ));
        }
        Ok(())
    }

    fn server(&self) -> String {
        let bound = self.0.bound.borrow();
        let server = bound.as_ref().map(|bound| bound.server.clone());
        server.unwrap_or_default()
    }

    fn out_of_turn(&self) -> ClientError {
        ClientError::Protocol {
            server: self.server(),
            reason: "an answer to something else".to_owned(),
        }
    }
}
