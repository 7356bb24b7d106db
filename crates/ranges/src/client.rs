//! Transactional keyspaces from any node: finds who leads, and tries again what did certainly not happen.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_entry::{Kind, Stamp, Version};
use dunlin_metadata::Keyspace;
use dunlin_node::http::{LocalFuture, Rejected};
use dunlin_node::plug::{RangePage, RangeTrouble, Transactional, TxnCounts};
use dunlin_node::{Failure, Services};
use dunlin_proto::api::RangeStatus;
use dunlin_proto::{Item, ShardAddress, WriteRequest};
use dunlin_rpc::CallError;
use dunlin_txn::{Answer, Command, ORIGIN, Request, Row, Unheard, Update, Wall, World, Write};
use hyper::StatusCode;
use tokio::time::{Instant, sleep, timeout};

use crate::budget::Budget;
use crate::group::{address_of, at_number, keyspace_of, number_of, range_id};
use crate::locked::Locked;
use crate::outcome::failure;
use crate::plug::{Part, at_shard, count};
use crate::relay::relay_to;
use crate::{stamps, status, wire};

/// How long a request may take that names no earlier deadline, with all that it asks for.
pub(crate) const REQUEST_TIME: Duration = Duration::from_secs(5);
/// One part in so many of a request's time is left for the last answer: the search for a leader ends before it.
const LAST_PART: u32 = 10;
/// Pause before a leader is looked for again.
const PAUSE: Duration = Duration::from_millis(50);
/// How long the replicas of a new keyspace may take to serve it.
const MADE_PATIENCE: Duration = Duration::from_secs(20);

/// One request's way to all ranges.
#[derive(Clone)]
pub(crate) struct Client {
    services: Weak<Services>,
    until: Instant,
    /// The lock of a hot key, until its transaction commits.
    lock: Rc<RefCell<Option<Locked>>>,
}

/// What one attempt came to.
enum Attempt {
    Answered(Answer),
    /// It was not sent.
    Unsent,
    /// It may have happened.
    GivenUp,
}

/// A request that nobody answered.
enum Lost {
    /// It did not happen, and why.
    Not(Failure),
    /// It may have happened.
    Maybe,
}

impl From<Lost> for Failure {
    fn from(lost: Lost) -> Failure {
        match lost {
            Lost::Not(failure) => failure,
            Lost::Maybe => Failure::FateUnknown,
        }
    }
}

impl Client {
    /// Of a request that begins now.
    pub fn new(services: &Rc<Services>) -> Client {
        Client::within(services, REQUEST_TIME)
    }

    /// Of one that has so much time left, or less.
    pub fn within(services: &Rc<Services>, left: Duration) -> Client {
        Client {
            services: Rc::downgrade(services),
            until: Instant::now() + left.min(REQUEST_TIME),
            lock: Rc::default(),
        }
    }

    /// Holds a lock until a transaction of this client commits.
    pub fn hold(&self, lock: Option<Locked>) {
        *self.lock.borrow_mut() = lock;
    }

    /// Whether it holds one.
    pub fn holds(&self) -> bool {
        self.lock.borrow().is_some()
    }

    /// The leader has ended the lock with the commit that was read under it.
    fn end_lock(&self, request: &Request, answer: &Answer) {
        let Request::Enter(Command::Commit {
            txn, participants, ..
        }) = request
        else {
            return;
        };
        if participants.is_empty()
            && *answer == Answer::Committed
            && let Some(lock) = self.lock.borrow_mut().take_if(|lock| lock.at == *txn)
        {
            lock.has_ended();
        }
    }

    /// Of one whose client waits until this moment of the clock.
    pub fn before(services: &Rc<Services>, deadline: Version) -> Client {
        let left_ms = deadline.millis().saturating_sub(services.now_ms());
        Client::within(services, Duration::from_millis(left_ms))
    }

    /// How much time is left.
    pub fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    fn anew(&self) -> Client {
        Client {
            services: self.services.clone(),
            until: Instant::now() + REQUEST_TIME,
            lock: Rc::default(),
        }
    }

    pub fn services(&self) -> Result<Rc<Services>, Failure> {
        self.services.upgrade().ok_or(Failure::Busy)
    }

    fn keyspace(&self, services: &Services, id: u32) -> Result<Arc<Keyspace>, Failure> {
        let keyspace = services.transactional_keyspace(id);
        keyspace.ok_or(Failure::UnknownKeyspace)
    }

    async fn write(self, request: WriteRequest) -> Result<Stamp, Failure> {
        let services = self.services()?;
        let client = Client::before(&services, request.deadline);
        let keyspace = client.keyspace(&services, request.keyspace)?;
        let range = range_id(keyspace.id, keyspace.range_of(&request.key));
        let stalls = services.stalls();
        let mut has_learned = false;
        let write = Write {
            key: request.key,
            value: (request.kind == Kind::Put).then_some(request.value),
        };
        loop {
            let deadline = services.attempt_until(request.floor, request.deadline)?;
            let asked = Request::Write {
                deadline,
                floor: request.floor,
                condition: request.condition,
                write: write.clone(),
            };
            // A loop that stood still since the write came: the client may have given it up.
            let is_wanted = || services.stalls() == stalls || request.deadline != Version::MAX;
            match client.ask_leader(range, &asked, is_wanted).await? {
                Answer::Done(version) => {
                    services.observe(version);
                    return Ok(Stamp::new(version, ORIGIN));
                }
                Answer::ConditionFailed(version) => {
                    let current = version.map(|version| Stamp::new(version, ORIGIN));
                    return Err(Failure::ConditionFailed(current));
                }
                Answer::TooLate(version) => {
                    // Timestamps run ahead of this clock, which did not know.
                    if has_learned || !services.observe(version) {
                        return Err(Failure::TooLate);
                    }
                    has_learned = true;
                }
                other => return Err(failure(&keyspace.name, other)),
            }
        }
    }

    /// Asks whoever leads a range, until somebody does. What must not happen twice is not sent again where it may have
    /// happened.
    async fn ask_leader(
        &self,
        range: u64,
        request: &Request,
        is_wanted: impl Fn() -> bool,
    ) -> Result<Answer, Lost> {
        let services = self.services().map_err(Lost::Not)?;
        if services.is_purged(keyspace_of(range)) {
            return purged(request);
        }
        let keyspace = self.keyspace(&services, keyspace_of(range));
        let keyspace = keyspace.map_err(Lost::Not)?;
        if let Request::Push { .. } = request {
            count(&services, |counts| counts.pushes += 1);
        }
        let may_repeat = may_repeat(request);
        // An attempt that was given up may happen still: what later ones come to says nothing of it.
        let mut may_have_happened = false;
        let not = |failure, may_have_happened| {
            if may_have_happened {
                Lost::Maybe
            } else {
                Lost::Not(failure)
            }
        };
        // The last replica has a moment to answer: else it would not be known whether anything happened.
        let until = self.until - self.left() / LAST_PART;
        let mut search = Search::new(&services, &keyspace, range, until);
        loop {
            if !is_wanted() {
                return Err(not(Failure::TooLate, may_have_happened));
            }
            let is_served = if ends_others(request) {
                Ok(())
            } else {
                services.serves(keyspace.id)
            };
            is_served.map_err(|failure| not(failure, may_have_happened))?;
            let next = search.next().await;
            let at = next.map_err(|failure| not(failure, may_have_happened))?;
            match self.ask_at(&services, at, range, request).await {
                Attempt::Answered(Answer::NotLeader(leader)) => search.not(at, leader),
                Attempt::Answered(Answer::Failed(why)) => search.failed(at, why),
                Attempt::Answered(Answer::Clock) => {
                    let failure = Failure::Clock(clock_line(&services, at));
                    return Err(not(failure, may_have_happened));
                }
                Attempt::Unsent => search.not(at, None),
                Attempt::Answered(Answer::Unknown) | Attempt::GivenUp => {
                    search.not(at, None);
                    if !may_repeat || self.left().is_zero() {
                        return Err(Lost::Maybe);
                    }
                    may_have_happened |= changes(request);
                }
                Attempt::Answered(answer) if may_have_happened && is_of_itself(&answer) => {
                    return Err(Lost::Maybe);
                }
                Attempt::Answered(answer) => {
                    search.found(at);
                    return Ok(answer);
                }
            }
        }
    }

    async fn ask_at(
        &self,
        services: &Rc<Services>,
        at: ShardAddress,
        range: u64,
        request: &Request,
    ) -> Attempt {
        if at == services.shard().address() {
            let Some(own) = at_shard(services) else {
                return Attempt::Unsent;
            };
            // A range may ask another that is led from here as well: so one of them is on the heap.
            let (client, request) = (self.clone(), request.clone());
            let serving: LocalFuture<Answer> =
                Box::pin(async move { own.serve(client, range, request).await });
            let answer = timeout(self.left(), serving).await;
            return answer.map_or(Attempt::GivenUp, Attempt::Answered);
        }
        let left = self.left();
        let mut body = wire::encode(range, left, request);
        let mut next = at;
        if !services.is_reachable(at) {
            let Some(relay) = relay_to(services, at) else {
                return Attempt::Unsent;
            };
            next = relay;
            body = wire::encode_relay(at, left, &body);
        }
        match services.ask(next, wire::NUMBER, body, left).await {
            Ok(body) => Answer::decode(body).map_or(Attempt::GivenUp, Attempt::Answered),
            Err(CallError::Overloaded | CallError::TooLarge { .. }) => Attempt::Unsent,
            Err(_) => Attempt::GivenUp,
        }
    }

    /// Values of keys of one range, at a transaction's timestamp or at one of their own.
    pub async fn read_keys(
        &self,
        keyspace: &Keyspace,
        index: usize,
        at: Option<Version>,
        keys: Vec<Bytes>,
        budget: Option<&Budget>,
    ) -> Result<Vec<Option<(Version, Bytes)>>, Failure> {
        let range = range_id(keyspace.id, index);
        let mut read = Vec::with_capacity(keys.len());
        while read.len() < keys.len() {
            let keys = keys[read.len()..].to_vec();
            match self
                .read_from(keyspace, range, &Request::Read { at, keys })
                .await?
            {
                Answer::Values(values) if !values.is_empty() => {
                    let bytes = values.iter().flatten().map(|(_, value)| value.len());
                    if let Some(budget) = budget {
                        budget.grow(bytes.sum())?;
                    }
                    read.extend(values);
                }
                other => return Err(failure(&keyspace.name, other)),
            }
        }
        Ok(read)
    }

    /// Sends a request that changes nothing.
    async fn read_from(
        &self,
        keyspace: &Keyspace,
        range: u64,
        request: &Request,
    ) -> Result<Answer, Failure> {
        match self.ask_leader(range, request, || true).await {
            Ok(answer) => Ok(answer),
            Err(Lost::Not(failure)) => Err(failure),
            Err(Lost::Maybe) => Err(Failure::NoLeader(format!(
                "the leader of a range of keyspace {} did not answer in time: nothing was read; try again",
                keyspace.name
            ))),
        }
    }

    /// Has the leader of a range evaluate a transaction.
    pub async fn update(&self, range: u64, update: Update) -> Result<Answer, Failure> {
        let request = Request::Update(update);
        Ok(self.ask_leader(range, &request, || true).await?)
    }

    /// Waits for the lock of a key, and reads keys of its range at a timestamp above `floor`; none where too many wait, or
    /// the time is over.
    pub async fn lock(
        &self,
        (range, key): (u64, Bytes),
        floor: Version,
        reads: Vec<Bytes>,
    ) -> Option<(Locked, Vec<Option<(Version, Bytes)>>)> {
        let request = Request::Lock { key, floor, reads };
        let Ok(Answer::Locked {
            number,
            has_waited,
            at,
            values,
        }) = self.ask(range, request).await
        else {
            return None;
        };
        let client = self.anew();
        let lock = Locked::new(has_waited, at, move || {
            // A shard that stops leaves its locks to their time.
            if client.services().is_err() {
                return;
            }
            let client = client.anew();
            tokio::task::spawn_local(async move {
                drop(client.ask(range, Request::Unlock { number }).await);
            });
        });
        Some((lock, values))
    }

    /// A page of keys, of one range at a time, and no more than so many.
    pub async fn read_page(
        &self,
        keyspace: &Keyspace,
        at: Option<Version>,
        (start, end): (Bytes, Option<Bytes>),
        limit: usize,
    ) -> Result<(Vec<Row>, Option<Bytes>), Failure> {
        let index = keyspace.range_of(&start);
        let behind = keyspace.range_end(index).map(str::as_bytes);
        let behind = behind.filter(|behind| end.as_ref().is_none_or(|end| *behind < &end[..]));
        let behind = behind.map(Bytes::copy_from_slice);
        let asked = Request::Page {
            at,
            start,
            end: behind.clone().or(end),
            limit: u32::try_from(limit).unwrap_or(u32::MAX),
        };
        let range = range_id(keyspace.id, index);
        match self.read_from(keyspace, range, &asked).await? {
            Answer::Page(rows, next) => Ok((rows, next.or(behind))),
            other => Err(failure(&keyspace.name, other)),
        }
    }

    async fn made(self, keyspace: Keyspace) -> Result<(), Rejected> {
        let begun = Instant::now();
        let mut index = 0;
        while let Some(record) = keyspace.ranges.get(index) {
            let services = self.services()?;
            let range = range_id(keyspace.id, record.number.into());
            let replicas = replicas_of(&keyspace, record.number);
            let mut is_led = false;
            for at in &replicas {
                let told = self.ask_at(&services, *at, range, &Request::Leads).await;
                if let Attempt::Answered(Answer::Done(_)) = told {
                    set_leader(&services, range, Some(*at));
                    is_led = true;
                    break;
                }
            }
            if is_led {
                index += 1;
                continue;
            }
            if begun.elapsed() > MADE_PATIENCE {
                let away = replicas.iter().filter(|at| !services.is_reachable(**at));
                let away: Vec<String> = away.map(|at| services.label_of(*at)).collect();
                let why = if away.is_empty() {
                    "its replicas did not choose a leader in time".to_owned()
                } else {
                    format!("{} cannot be reached", away.join(", "))
                };
                return Err(Rejected::new(
                    StatusCode::SERVICE_UNAVAILABLE,
                    format!("keyspace {} was not made: {why}; try again", keyspace.name),
                ));
            }
            sleep(PAUSE).await;
        }
        Ok(())
    }
}

/// The answer of a purged keyspace's ranges, by the record of the purge alone.
fn purged(request: &Request) -> Result<Answer, Lost> {
    match request {
        // All that had committed there was known to the other ranges before it was purged.
        Request::Push { .. } => Ok(Answer::Forgotten),
        Request::Enter(Command::Finalize { .. }) => Ok(Answer::Done(Version(0))),
        _ => Err(Lost::Not(Failure::UnknownKeyspace)),
    }
}

/// Whether a request changes something that a repeat does not.
fn changes(request: &Request) -> bool {
    matches!(request, Request::Update(_) | Request::Enter(_))
}

/// Whether an answer says of one attempt alone that nothing happened: others of the request may have happened. All other
/// answers look for its name.
fn is_of_itself(answer: &Answer) -> bool {
    matches!(
        answer,
        Answer::TooLate(_) | Answer::Busy | Answer::NoSpace | Answer::NoTimestamp(_)
    )
}

/// Whether a request may be sent again where it may have happened.
fn may_repeat(request: &Request) -> bool {
    match request {
        Request::Write { .. } | Request::Enter(Command::Commit { .. }) => false,
        // Its name tells what became of it.
        Request::Update(update) => update.id.is_some(),
        Request::Read { .. }
        | Request::Page { .. }
        | Request::Unchanged { .. }
        | Request::Enter(_)
        | Request::Lock { .. }
        | Request::Unlock { .. }
        | Request::Push { .. }
        | Request::Name { .. }
        | Request::Timestamps { .. }
        | Request::Leads => true,
    }
}

/// Whether a request ends a wait of others: a dropped keyspace serves those until it is purged.
pub(crate) fn ends_others(request: &Request) -> bool {
    matches!(
        request,
        Request::Push { .. } | Request::Enter(Command::Finalize { .. } | Command::Finished { .. })
    )
}

impl World for Client {
    fn wall(&self) -> Wall {
        let services = self.services.upgrade();
        services.map_or(Wall::UNKNOWN, |services| stamps::wall(&services))
    }

    async fn ask(&self, range: u64, request: Request) -> Result<Answer, Unheard> {
        match self.ask_leader(range, &request, || true).await {
            Ok(answer) => {
                self.end_lock(&request, &answer);
                Ok(answer)
            }
            Err(Lost::Not(failure)) => Err(Unheard::Not(failure.to_string())),
            Err(Lost::Maybe) => Err(Unheard::Maybe),
        }
    }

    async fn timestamp(&self, above: Version) -> Result<Version, Answer> {
        let services = self.services().map_err(|_| Answer::Busy)?;
        let given = timeout(self.left(), stamps::timestamp(&services, above)).await;
        given.unwrap_or_else(|_| {
            let why = "the node that gives them did not answer in time";
            Err(Answer::NoTimestamp(why.to_owned()))
        })
    }

    async fn pause(&self, ms: u64) {
        sleep(Duration::from_millis(ms)).await;
    }

    fn elapsed_ms(&self) -> u64 {
        let services = self.services.upgrade();
        let part = services.and_then(|services| services.find::<Part>());
        part.map_or(0, |part| part.elapsed_ms())
    }

    fn left_ms(&self) -> u64 {
        self.left().as_millis() as u64
    }
}

impl Transactional for Client {
    fn read(&self, keyspace: u32, key: Bytes) -> LocalFuture<Result<Option<Item>, Failure>> {
        let client = self.anew();
        Box::pin(async move {
            let services = client.services()?;
            let keyspace = client.keyspace(&services, keyspace)?;
            let index = keyspace.range_of(&key);
            let keys = vec![key];
            let found = client.read_keys(&keyspace, index, None, keys, None).await?;
            let found = found.into_iter().flatten().next();
            Ok(found.map(|(version, value)| item(Bytes::new(), version, value)))
        })
    }

    fn write(&self, request: WriteRequest) -> LocalFuture<Result<Stamp, Failure>> {
        Box::pin(Client::write(self.clone(), request))
    }

    fn page(
        &self,
        keyspace: u32,
        start: Bytes,
        end: Option<Bytes>,
    ) -> LocalFuture<Result<RangePage, Failure>> {
        let client = self.anew();
        Box::pin(async move {
            let keyspace = client.keyspace(&*client.services()?, keyspace)?;
            let (rows, next) = client
                .read_page(&keyspace, None, (start, end), usize::MAX)
                .await?;
            let rows = rows.into_iter();
            let items = rows.map(|(key, version, value)| item(key, version, value));
            Ok(RangePage {
                items: items.collect(),
                next,
            })
        })
    }

    fn made(&self, keyspace: Keyspace) -> LocalFuture<Result<(), Rejected>> {
        Box::pin(Client::made(self.anew(), keyspace))
    }

    fn status(&self) -> (Vec<RangeStatus>, TxnCounts) {
        let Some(services) = self.services.upgrade() else {
            return Default::default();
        };
        let part = services.find::<Part>();
        let counts = part.map_or_else(TxnCounts::default, |part| TxnCounts {
            ahead_ms: stamps::ahead_ms(&services, part.stamps.last()),
            known_ahead_ms: stamps::ahead_ms(&services, stamps::greatest(&part)),
            ..part.counts()
        });
        (status::of(&services), counts)
    }

    fn trouble(&self) -> Option<RangeTrouble> {
        status::trouble(&*self.services.upgrade()?)
    }
}

fn item(key: Bytes, version: Version, value: Bytes) -> Item {
    Item {
        key,
        stamp: Stamp::new(version, ORIGIN),
        from: 0,
        tombstone: false,
        is_expiry: false,
        expiry_ms: None,
        replaces: None,
        logged: None,
        value,
    }
}

fn replicas_of(keyspace: &Keyspace, number: u16) -> Vec<ShardAddress> {
    let range = keyspace.range(number);
    let replicas = range.into_iter().flat_map(|range| &range.replicas);
    replicas.map(address_of).collect()
}

/// The shard that led a range at the last request from here.
pub(crate) fn leader_at(services: &Services, range: u64) -> Option<ShardAddress> {
    let part = services.find::<Part>()?;
    part.leaders.borrow().get(&range).copied()
}

fn set_leader(services: &Services, range: u64, at: Option<ShardAddress>) {
    if let Some(part) = services.find::<Part>() {
        let mut leaders = part.leaders.borrow_mut();
        match at {
            Some(at) => drop(leaders.insert(range, at)),
            None => drop(leaders.remove(&range)),
        }
    }
}

fn clock_line(services: &Services, at: ShardAddress) -> String {
    format!(
        "the clock of {}, which leads, is not known to be right: see dunlin status",
        services.label_of(at)
    )
}

/// Looks for who leads a range.
struct Search<'a> {
    services: &'a Rc<Services>,
    keyspace: &'a Keyspace,
    range: u64,
    until: Instant,
    replicas: Vec<ShardAddress>,
    /// Whom to ask next, as another has said.
    hint: Option<ShardAddress>,
    turn: usize,
    asked: usize,
    trouble: Option<String>,
}

impl<'a> Search<'a> {
    fn new(
        services: &'a Rc<Services>,
        keyspace: &'a Keyspace,
        range: u64,
        until: Instant,
    ) -> Search<'a> {
        let replicas = replicas_of(keyspace, number_of(range));
        let own = services.shard().address();
        // Where a replica is here it knows who leads.
        let here = at_shard(services).and_then(|own| own.group(range));
        let told = here.and_then(|group| group.at(group.leader()?));
        let part = services.find::<Part>();
        let last = part.and_then(|part| part.leaders.borrow().get(&range).copied());
        let turn = replicas.iter().position(|at| *at == own);
        Search {
            hint: told.or(last),
            turn: turn.unwrap_or_else(|| services.next_turn()),
            services,
            keyspace,
            range,
            until,
            replicas,
            asked: 0,
            trouble: None,
        }
    }

    /// Whom to ask now.
    async fn next(&mut self) -> Result<ShardAddress, Failure> {
        loop {
            if let Some(hint) = self.hint.take() {
                return Ok(hint);
            }
            // Each once, then a pause: nobody leads yet.
            if self.asked >= self.replicas.len() {
                if Instant::now() >= self.until {
                    return Err(self.nobody());
                }
                sleep(PAUSE).await;
                self.asked = 0;
            }
            self.asked += 1;
            self.turn += 1;
            let at = self.replicas.get(self.turn % self.replicas.len().max(1));
            match at {
                Some(at)
                    if self.services.is_reachable(*at)
                        || *at == self.services.shard().address() =>
                {
                    return Ok(*at);
                }
                _ => {}
            }
        }
    }

    fn found(&mut self, at: ShardAddress) {
        set_leader(self.services, self.range, Some(at));
    }

    fn not(&mut self, at: ShardAddress, leader: Option<u64>) {
        set_leader(self.services, self.range, None);
        // A replica named by itself does not lead, yet. One that the record does not name may be newer.
        // One that cannot be reached from here gets the request through another.
        let may_ask = self.asked < self.replicas.len();
        self.hint = leader.map(at_number).filter(|to| *to != at && may_ask);
        if self.hint.is_some() {
            self.asked += 1;
        }
    }

    fn failed(&mut self, at: ShardAddress, why: String) {
        self.trouble = Some(format!("{}: {why}", self.services.label_of(at)));
        self.not(at, None);
    }

    fn nobody(&self) -> Failure {
        let own = self.services.shard().address();
        let is_up = |at: &&ShardAddress| **at == own || self.services.is_reachable(**at);
        let (up, all) = (
            self.replicas.iter().filter(is_up).count(),
            self.replicas.len(),
        );
        let name = &self.keyspace.name;
        let record = self.keyspace.range(number_of(self.range));
        let is_ready = record.is_some_and(|record| record.ready);
        let line = match (is_ready, &self.trouble, 2 * up > all) {
            (false, _, _) => format!("keyspace {name} is being made: try again in a moment"),
            (true, Some(trouble), _) => format!("keyspace {name} has no leader; {trouble}"),
            (true, None, false) => format!(
                "keyspace {name} has no leader: {up} of its {all} replicas can be reached, and a majority is needed; dunlin status shows who is away"
            ),
            (true, None, true) => format!(
                "keyspace {name} has no leader at the moment: try again; dunlin status shows its replicas"
            ),
        };
        Failure::NoLeader(line)
    }
}
