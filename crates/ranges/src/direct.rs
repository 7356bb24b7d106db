//! `/v1/direct`: a client whose requests are frames of `dunlin_rpc`, over a connection that began as HTTP.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_message::Message;
use dunlin_metadata::{Keyspace, Role};
use dunlin_node::http::{Answer, Ask, Judge, KEY_BYTES, LocalFuture, Rejected, switching};
use dunlin_node::plug::Memory;
use dunlin_node::{Failure, Services};
use dunlin_proto::{
    DIRECT_FRAME_BYTES, DIRECT_PROTOCOL, DIRECT_SHARD, DirectCommit, DirectId, DirectKey,
    DirectLeader, DirectReply, DirectRequest, DirectResponse, DirectSpan,
};
use dunlin_rpc::{Duplex, Keepalive, Limits, Reply, Room, Service, serve_frames};
use dunlin_txn::{Id, World};
use futures_util::StreamExt;
use futures_util::stream::iter;
use hyper::header::{HeaderValue, UPGRADE};
use hyper::{Method, StatusCode};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::body::{Found, Place, Write, check_key};
use crate::budget::Budget;
use crate::client::{Client, leader_at};
use crate::group::range_id;
use crate::http::{check_id, keyspace_with, keyspaces_for};
use crate::interactive::{commit_reads, committed, find_name, of_failure};
use crate::keyspaces::{Keyspaces, Where, whereabouts};
use crate::locked::Locked;
use crate::one_shot::{RANGES_AT_ONCE, shares_of};
use crate::outcome::failure;
use crate::plug::limits;
use crate::positions::{Positions, keys_at, positions, set_at};
use crate::read_set::ReadSet;
use crate::stamps::is_ahead;
use crate::step::{SCANNED_MAX, StepReply};

/// Requests of a client without an answer.
const CALLS: usize = 256;
/// Their bytes.
const REQUEST_BYTES: usize = 24 << 20;
/// Bytes of values in an answer.
const READ_BYTES: usize = 16 << 20;
/// Bytes of answers that a client has not taken: no more of its requests are read then.
const RESPONSE_BYTES: usize = 16 << 20;
/// Timestamps that were given to a client, and not used for a commit as yet.
const GIVEN: usize = 512;
/// Clients are many, and mostly idle: they ask more often themselves whether this node is there.
const KEEPALIVE: Keepalive = Keepalive {
    ping_interval: Duration::from_secs(20),
    dead_after: Duration::from_secs(60),
};
/// An answer of so many bytes is counted until its client has taken it.
const WHOLE_BYTES: usize = 64 << 10;
/// Between two checks whether it has.
const TAKEN_PAUSE: Duration = Duration::from_millis(5);

/// Has the connection of a request go on without HTTP.
///
/// # Errors
/// 426 where it does not say that it wants to.
pub(crate) fn answer(services: &Rc<Services>, ask: Ask) -> Result<Answer, Rejected> {
    let wanted = ask.headers.get(UPGRADE).map(|wanted| wanted.as_bytes());
    let is_wanted =
        wanted.is_some_and(|wanted| wanted.eq_ignore_ascii_case(DIRECT_PROTOCOL.as_bytes()));
    if ask.method != Method::GET || !is_wanted {
        return Err(Rejected::new(
            StatusCode::UPGRADE_REQUIRED,
            format!(
                "GET /v1/direct is for clients that go on without HTTP: send Connection: upgrade and Upgrade: {DIRECT_PROTOCOL}, which this node speaks"
            ),
        ));
    }
    let session = Session::new(services, ask.may_now);
    let stopping = ask.stopping;
    ask.upgrading
        .put(Box::new(|stream| serve(session, stream, stopping)));
    let mut switching = switching(DIRECT_PROTOCOL);
    let at = services.shard().address();
    let at = HeaderValue::from_str(&format!("{}/{}", at.node, at.shard));
    if let Ok(at) = at {
        switching.headers_mut().insert(DIRECT_SHARD, at);
    }
    Ok(switching)
}

/// Serves a client to its end, or until the node stops and its requests are answered.
fn serve(
    session: Rc<Session>,
    stream: Box<dyn Duplex>,
    stopping: LocalFuture<()>,
) -> LocalFuture<()> {
    let limits = Limits {
        calls: CALLS,
        request_bytes: REQUEST_BYTES,
        response_bytes: RESPONSE_BYTES,
        streams: 0,
        frame_bytes_max: DIRECT_FRAME_BYTES,
        keepalive: KEEPALIVE,
        ..Limits::default()
    };
    Box::pin(async move {
        let stop = async {
            stopping.await;
            session.is_stopping.set(true);
            while session.under_way.get() > 0 {
                session.ended.notified().await;
            }
        };
        let service = Rc::new(Requests(session.clone()));
        tokio::select! {
            biased;
            end = serve_frames(stream, service, limits) => {
                tracing::debug!(%end, "a direct client's connection ended");
            }
            () = stop => {}
        }
    })
}

/// A client.
struct Session {
    services: Weak<Services>,
    /// Whether it has a role on a keyspace, now.
    may: Judge,
    /// Timestamps that were given to it and are nobody else's, with the lock that came with one. A transaction may commit
    /// at one of these, once.
    given: RefCell<BTreeMap<Version, Option<Locked>>>,
    is_stopping: Cell<bool>,
    under_way: Cell<usize>,
    ended: Notify,
}

/// A client of a shard, by its requests alone.
#[derive(Clone)]
pub struct DirectSession(Rc<Session>);

impl DirectSession {
    /// One with these roles.
    pub fn new(services: &Rc<Services>, may: Judge) -> DirectSession {
        DirectSession(Session::new(services, may))
    }

    /// The answer to a request.
    pub async fn reply(&self, request: DirectRequest) -> DirectReply {
        match self.0.services.upgrade() {
            Some(services) => {
                let mut memory = services.memory();
                self.0.reply(&services, request, &mut memory).await
            }
            None => stopping(),
        }
    }
}

struct Requests(Rc<Session>);

fn stopping() -> DirectReply {
    DirectReply {
        response: of_status(503, "this node stops: go on at another"),
        leader: None,
    }
}

impl Service<DirectRequest, DirectReply> for Requests {
    fn room(&self, bytes: usize) -> Option<Room> {
        let mut memory = self.0.services.upgrade()?.memory();
        memory.grow(bytes).ok()?;
        Some(Box::new(memory))
    }

    fn handle(&self, request: DirectRequest, reply: Reply<DirectReply>) {
        let session = self.0.clone();
        if session.is_stopping.get() {
            return reply.send(stopping());
        }
        session.under_way.set(session.under_way.get() + 1);
        at_once_or_later(async move {
            session.answer(request, reply).await;
            session.under_way.set(session.under_way.get() - 1);
            session.ended.notify_waiters();
        });
    }
}

/// Carries out as much as waits for nothing, so that most reads need no task, and the rest in one.
fn at_once_or_later(work: impl Future<Output = ()> + 'static) {
    let mut work = Box::pin(work);
    // Whatever it waits for is given the task's waker, when it is polled there.
    if work
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
        .is_pending()
    {
        tokio::task::spawn_local(work);
    }
}

impl Session {
    fn new(services: &Rc<Services>, may: Judge) -> Rc<Session> {
        Rc::new(Session {
            services: Rc::downgrade(services),
            may,
            given: RefCell::default(),
            is_stopping: Cell::new(false),
            under_way: Cell::new(0),
            ended: Notify::new(),
        })
    }

    async fn answer(&self, request: DirectRequest, reply: Reply<DirectReply>) {
        let Some(services) = self.services.upgrade() else {
            return;
        };
        let mut memory = services.memory();
        let answer = self.reply(&services, request, &mut memory).await;
        let weight = answer.weight();
        if weight <= WHOLE_BYTES {
            return reply.send(answer);
        }
        let backlog = reply.backlog();
        while backlog.bytes() > RESPONSE_BYTES {
            sleep(TAKEN_PAUSE).await;
        }
        reply.send(answer);
        memory.set(weight);
        while backlog.bytes() > WHOLE_BYTES {
            sleep(TAKEN_PAUSE).await;
        }
    }

    async fn reply(
        &self,
        services: &Rc<Services>,
        request: DirectRequest,
        memory: &mut Memory,
    ) -> DirectReply {
        let first = first_range(services, &request);
        let response = match memory.grow(request.weight()) {
            Ok(()) => self.carry_out(services, request, memory).await,
            Err(full) => Err(full.into()),
        };
        let response = response.unwrap_or_else(of_rejected);
        let is_refused = matches!(response, DirectResponse::Refused(..));
        let first = first.filter(|_| !is_refused);
        let leader = first.and_then(|(keyspace, index)| led_elsewhere(services, &keyspace, index));
        DirectReply { response, leader }
    }

    async fn carry_out(
        &self,
        services: &Rc<Services>,
        request: DirectRequest,
        memory: &mut Memory,
    ) -> Result<DirectResponse, Rejected> {
        let client = Client::new(services);
        let response = match request {
            DirectRequest::Read { at, lock, keys } => {
                let most = limits(services).read_bytes.min(READ_BYTES);
                let budget = Budget::new(services.memory(), most);
                let read = (at, lock, places(keys)?);
                self.read(services, (&client, &budget), read).await?
            }
            DirectRequest::Page { at, span, limit } => {
                self.page(services, &client, at, span, limit).await?
            }
            DirectRequest::Commit(commit) => self.commit(services, &client, commit).await?,
            DirectRequest::Outcome { id, first } => {
                self.outcome(services, &client, id, first).await?
            }
            DirectRequest::Unlock(at) => {
                drop(self.given.borrow_mut().remove(&at));
                DirectResponse::Done
            }
        };
        if services.is_superseded() {
            return Err(Rejected::new(
                StatusCode::GATEWAY_TIMEOUT,
                "another process runs as this node, and this one ends: go on at another; whether a commit happened is not known",
            ));
        }
        if matches!(
            response,
            DirectResponse::Values(..) | DirectResponse::Page(..)
        ) {
            memory.grow(response.weight())?;
        }
        Ok(response)
    }

    /// Notes a timestamp as this client's.
    fn give(&self, at: Version, lock: Option<Locked>) {
        let mut given = self.given.borrow_mut();
        if given.len() >= GIVEN {
            given.pop_first();
        }
        given.insert(at, lock);
    }

    fn keyspace(
        &self,
        services: &Services,
        name: &str,
        role: Role,
    ) -> Result<Arc<Keyspace>, Rejected> {
        keyspace_with(services, &self.may, name, role)
    }

    async fn read(
        &self,
        services: &Rc<Services>,
        (client, budget): (&Client, &Budget),
        (at, lock, keys): (Option<Version>, bool, Vec<Place>),
    ) -> Result<DirectResponse, Rejected> {
        admit(services, keys.len(), 0)?;
        // A lock keeps others waiting.
        let role = |number| match (number, lock) {
            (0, true) => Role::Write,
            _ => Role::Read,
        };
        let named = keys.iter().enumerate();
        let named = named.map(|(number, place)| (&*place.keyspace, role(number)));
        let keyspaces = keyspaces_for(services, &self.may, named)?;
        if lock {
            let clients = (client, budget);
            return self.read_locked(clients, at, &keyspaces, &keys).await;
        }
        let at = match at {
            Some(at) => check_at(services, at).await?,
            None => self.timestamp(client).await?,
        };
        let ranges = positions(&keyspaces, &keys)?;
        let mut all = vec![None; keys.len()];
        read_many((client, budget), &keyspaces, (&keys, ranges), at, &mut all).await?;
        Ok(DirectResponse::Values(at, all))
    }

    /// A timestamp that is this client's.
    async fn timestamp(&self, client: &Client) -> Result<Version, Rejected> {
        let at = self.later(client, Version(0)).await?;
        self.give(at, None);
        Ok(at)
    }

    /// Reads keys once it is the transaction's turn to use the first: those of its range with the lock itself.
    async fn read_locked(
        &self,
        (client, budget): (&Client, &Budget),
        at: Option<Version>,
        keyspaces: &Keyspaces,
        keys: &[Place],
    ) -> Result<DirectResponse, Rejected> {
        let ([first, ..], None) = (keys, at) else {
            return Err(Rejected::bad(
                "a transaction locks the first key of its first read: name keys and no timestamp",
            ));
        };
        let of_lock = whereabouts(keyspaces, first)?;
        let mut elsewhere = positions(keyspaces, keys)?;
        let mut beside = elsewhere.remove(&of_lock).unwrap_or_default();
        let (range, key) = (range_id(of_lock.0, of_lock.1), first.key.clone());
        let reads = keys_at(keys, &beside);
        let locked = client.lock((range, key), Version(0), reads).await;
        let Some((lock, values)) = locked else {
            return Err(Rejected::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "others hold the lock of this key, or its leader cannot be reached: nothing was read; try again",
            ));
        };
        // Where one of the reads fails, the lock ends with it.
        let at = lock.at;
        let read = values.iter().flatten();
        budget.grow(read.map(|(_, value)| value.len()).sum())?;
        // An answer has the values of the first keys that fit into it.
        let rest = beside.split_off(values.len());
        if !rest.is_empty() {
            elsewhere.insert(of_lock, rest);
        }
        let mut all = vec![None; keys.len()];
        set_at(&mut all, &beside, values);
        read_many((client, budget), keyspaces, (keys, elsewhere), at, &mut all).await?;
        self.give(at, Some(lock));
        Ok(DirectResponse::Values(at, all))
    }

    async fn page(
        &self,
        services: &Rc<Services>,
        client: &Client,
        at: Option<Version>,
        span: DirectSpan,
        limit: u32,
    ) -> Result<DirectResponse, Rejected> {
        let limit = limit as usize;
        if limit == 0 || limit > SCANNED_MAX {
            let line = format!("a page has from 1 to {SCANNED_MAX} keys");
            return Err(Rejected::bad(line));
        }
        let keyspace = self.keyspace(services, &span.keyspace, Role::Read)?;
        let at = match at {
            Some(at) => check_at(services, at).await?,
            None => self.timestamp(client).await?,
        };
        let bounds = (span.start, span.end);
        let page = client.read_page(&keyspace, Some(at), bounds, limit);
        let (rows, next) = page.await?;
        Ok(DirectResponse::Page(at, rows, next))
    }

    async fn commit(
        &self,
        services: &Rc<Services>,
        client: &Client,
        commit: DirectCommit,
    ) -> Result<DirectResponse, Rejected> {
        let DirectCommit {
            at,
            reads,
            scans,
            writes,
            id,
        } = commit;
        let keys = reads.len() + scans.len() + writes.len();
        let writes = writes_of(writes)?;
        admit(services, keys, writes.iter().map(Write::size).sum())?;
        let name = name_of(services, id).await?;
        let written = writes.iter().map(|write| &*write.place.keyspace);
        let read = reads.iter().map(|(key, _)| &*key.keyspace);
        let read = read.chain(scans.iter().map(|span| &*span.keyspace));
        // The right to write is one to read.
        let named = written.map(|name| (name, Role::Write));
        let named = named.chain(read.map(|name| (name, Role::Read)));
        let keyspaces = keyspaces_for(services, &self.may, named)?;
        let has_read = !reads.is_empty() || !scans.is_empty();
        let reads = read_set(reads, scans)?;
        let (since, first) = match at {
            Some(at) => {
                let at = check_at(services, at).await?;
                let given = self.given.borrow_mut().remove(&at);
                let is_given = given.is_some();
                client.hold(given.flatten());
                if is_given {
                    (at, at)
                } else {
                    // Somebody else may have it.
                    (at, self.later(client, at).await?)
                }
            }
            None if has_read => {
                return Err(Rejected::bad(
                    "what a transaction has read has a timestamp: name it",
                ));
            }
            None => {
                let at = self.later(client, Version(0)).await?;
                (at, at)
            }
        };
        let mut shares = shares_of(&keyspaces, &writes, &[])?.shares;
        let reads = reads.share_out(&keyspaces, &mut shares)?;
        let ended = commit_reads(client, (since, first), &shares, &reads, &name).await;
        let reply = committed(services, ended.0, ended.1);
        Ok(of_reply(reply))
    }

    /// A timestamp above another, for one commit.
    async fn later(&self, client: &Client, above: Version) -> Result<Version, Rejected> {
        let at = client.timestamp(above).await;
        Ok(at.map_err(|instead| failure("_oracle", instead))?)
    }

    async fn outcome(
        &self,
        services: &Rc<Services>,
        client: &Client,
        id: DirectId,
        first: DirectKey,
    ) -> Result<DirectResponse, Rejected> {
        self.keyspace(services, &first.keyspace, Role::Write)?;
        let name = name_of(services, id).await?;
        let found = find_name(client, &name, &place(first)?, true).await;
        Ok(of_reply(
            found.unwrap_or_else(|failure| of_failure(&failure)),
        ))
    }
}

/// Reads the keys at these positions, ranges side by side, and sets their values.
async fn read_many(
    (client, budget): (&Client, &Budget),
    keyspaces: &Keyspaces,
    (places, ranges): (&[Place], BTreeMap<Where, Positions>),
    at: Version,
    all: &mut [Found],
) -> Result<(), Failure> {
    let reads = ranges.into_iter().filter_map(|((_, index), positions)| {
        let first = places.get(*positions.first()?)?;
        let keyspace = keyspaces.get(&*first.keyspace)?;
        Some(async move {
            let keys = keys_at(places, &positions);
            let read = client.read_keys(keyspace, index, Some(at), keys, Some(budget));
            read.await.map(|values| (positions, values))
        })
    });
    let mut reads: Vec<_> = reads.collect();
    // Most have one range, which needs no queue of its own.
    if reads.len() == 1
        && let Some(one) = reads.pop()
    {
        let (positions, values) = one.await?;
        set_at(all, &positions, values);
        return Ok(());
    }
    let mut reads = iter(reads).buffered(RANGES_AT_ONCE);
    while let Some(read) = reads.next().await {
        let (positions, values) = read?;
        set_at(all, &positions, values);
    }
    Ok(())
}

/// The range whose leader a request is best sent to: the index in its keyspace.
fn first_range(services: &Services, request: &DirectRequest) -> Option<(Arc<Keyspace>, usize)> {
    let (keyspace, key) = match request {
        DirectRequest::Read { keys, .. } => keys.first().map(|key| (&*key.keyspace, &key.key)),
        DirectRequest::Page { span, .. } => Some((&*span.keyspace, &span.start)),
        DirectRequest::Commit(commit) => {
            let first = commit.writes.first();
            first.map(|(key, _)| (&*key.keyspace, &key.key))
        }
        DirectRequest::Outcome { .. } | DirectRequest::Unlock(_) => None,
    }?;
    let keyspace = services.transactional_named(keyspace)?;
    let index = keyspace.range_of(key);
    Some((keyspace, index))
}

/// Where a range is led, if that is elsewhere, as far as is known here.
fn led_elsewhere(services: &Services, keyspace: &Keyspace, index: usize) -> Option<DirectLeader> {
    let at = leader_at(services, range_id(keyspace.id, index))?;
    if at == services.shard().address() {
        return None;
    }
    let (http, shards) = services.http_of(at.node)?;
    let bytes = |key: &str| Bytes::copy_from_slice(key.as_bytes());
    Some(DirectLeader {
        span: DirectSpan {
            keyspace: keyspace.name.clone(),
            start: bytes(&keyspace.ranges.get(index)?.start),
            end: keyspace.range_end(index).map(bytes),
        },
        at,
        shards,
        http,
    })
}

fn place(key: DirectKey) -> Result<Place, Rejected> {
    check_key(&key.key, KEY_BYTES).map_err(Rejected::bad)?;
    Ok(Place {
        keyspace: key.keyspace,
        // A copy: what a client sends is read many requests at a time.
        key: Bytes::copy_from_slice(&key.key),
    })
}

fn places(keys: Vec<DirectKey>) -> Result<Vec<Place>, Rejected> {
    keys.into_iter().map(place).collect()
}

/// Writes, of each key one.
fn writes_of(writes: Vec<(DirectKey, Option<Bytes>)>) -> Result<Vec<Write>, Rejected> {
    if writes.is_empty() {
        return Err(Rejected::bad(
            "nothing is written: a transaction that only reads ends without a commit",
        ));
    }
    let write = |(key, value): (DirectKey, Option<Bytes>)| {
        let place = place(key)?;
        let value = value.map(|value| Bytes::copy_from_slice(&value));
        Ok(Write { place, value })
    };
    let writes: Vec<Write> = writes
        .into_iter()
        .map(write)
        .collect::<Result<_, Rejected>>()?;
    let places: BTreeSet<&Place> = writes.iter().map(|write| &write.place).collect();
    if places.len() < writes.len() {
        return Err(Rejected::bad("a key is written twice: write it once"));
    }
    Ok(writes)
}

fn read_set(
    reads: Vec<(DirectKey, Option<Version>)>,
    scans: Vec<DirectSpan>,
) -> Result<ReadSet, Rejected> {
    let reads = reads.into_iter();
    let reads = reads.map(|(key, version)| Ok((place(key)?, version)));
    let mut set = ReadSet::of_keys(reads.collect::<Result<Vec<_>, Rejected>>()?);
    for span in scans {
        set.add_scan(&span.keyspace, (span.start, span.end), usize::MAX);
    }
    Ok(set)
}

/// Refuses more keys or bytes than a transaction may have.
fn admit(services: &Services, keys: usize, written: usize) -> Result<(), Rejected> {
    let admitted = limits(services).admit(keys, written);
    admitted.map_err(|line| Rejected::new(StatusCode::PAYLOAD_TOO_LARGE, line))
}

/// Refuses a timestamp that is far ahead, which would take all others with it, or of which nothing is known any more.
async fn check_at(services: &Rc<Services>, at: Version) -> Result<Version, Rejected> {
    let now_ms = services.now_ms();
    if is_ahead(services, at.millis(), services.clock_bound_ms()).await? {
        return Err(Rejected::bad(format!(
            "the timestamp {at} is ahead of this node's clock by more than the clock bound: leave it out, and one is given"
        )));
    }
    if at.millis() < now_ms.saturating_sub(limits(services).retention_ms()) {
        return Err(Rejected::new(
            StatusCode::GONE,
            "the timestamp of this transaction is older than the versions that are kept (setting txn retention): begin another",
        ));
    }
    Ok(at)
}

/// A name as ranges keep it.
async fn name_of(services: &Rc<Services>, id: DirectId) -> Result<Id, Rejected> {
    check_id(services, id.ms).await?;
    Ok(Id {
        ms: id.ms,
        name: format!("direct-{:x}-{:032x}", id.ms, id.number).into(),
        body: 0,
    })
}

fn of_status(status: u16, line: impl Into<String>) -> DirectResponse {
    DirectResponse::Refused(status, line.into())
}

fn of_rejected(rejected: Rejected) -> DirectResponse {
    of_status(rejected.status.as_u16(), rejected.line)
}

fn of_reply(reply: StepReply) -> DirectResponse {
    match reply {
        StepReply::Committed(at) => DirectResponse::Committed(at),
        StepReply::Conflict | StepReply::Aborted => of_status(
            409,
            "others were in the way: nothing of it happened; begin another",
        ),
        StepReply::Refused(504, _) => of_status(
            504,
            "a range did not answer in time, so it is not known whether this transaction committed: send Outcome",
        ),
        StepReply::Refused(status, line) => of_status(status, line),
        _ => of_status(
            410,
            "this transaction is too old for its outcome to be known",
        ),
    }
}
