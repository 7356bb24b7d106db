//! Transactional keyspaces from any node: finds who leads, and tries again what did certainly not happen.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_entry::{Stamp, Version};
use dunlin_metadata::Keyspace;
use dunlin_node::http::{LocalFuture, Rejected};
use dunlin_node::plug::{RangePage, RangeStatus, Transactional};
use dunlin_node::{Failure, Services};
use dunlin_proto::{Item, ShardAddress, WriteRequest};
use dunlin_rpc::CallError;
use dunlin_versions::{Command, ORIGIN};
use hyper::StatusCode;
use tokio::time::{Instant, sleep, timeout};

use crate::group::{address_of, raft_id};
use crate::plug::{NUMBER, at_shard};
use crate::status;
use crate::wire::{Answer, Asked};

/// How long a leader is looked for, and waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// Pause before a leader is looked for again.
const PAUSE: Duration = Duration::from_millis(50);
/// How long the replicas of a new keyspace may take to serve it.
const MADE_PATIENCE: Duration = Duration::from_secs(20);

/// One way for all keyspaces.
#[derive(Clone)]
pub(crate) struct Client {
    services: Weak<Services>,
    /// Who led last.
    leaders: Rc<RefCell<BTreeMap<u32, ShardAddress>>>,
}

/// What one attempt came to.
enum Attempt {
    Answered(Answer),
    /// It was not sent.
    Unsent,
    /// It may have happened.
    GivenUp,
}

impl Client {
    pub fn new(services: &Rc<Services>) -> Client {
        Client {
            services: Rc::downgrade(services),
            leaders: Rc::default(),
        }
    }

    fn services(&self) -> Result<Rc<Services>, Failure> {
        self.services.upgrade().ok_or(Failure::Busy)
    }

    fn keyspace(&self, services: &Services, id: u32) -> Result<Arc<Keyspace>, Failure> {
        let keyspace = services.transactional_keyspace(id);
        keyspace.ok_or(Failure::UnknownKeyspace)
    }

    async fn write(self, request: WriteRequest) -> Result<Stamp, Failure> {
        let services = self.services()?;
        let keyspace = self.keyspace(&services, request.keyspace)?;
        let (begun, stalls) = (Instant::now(), services.stalls());
        let mut command = Command {
            clock: Version(0),
            deadline: request.deadline,
            floor: request.floor,
            condition: request.condition,
            kind: request.kind,
            key: request.key,
            value: request.value,
        };
        let mut has_learned = false;
        let mut search = Search::new(&self, &services, &keyspace);
        loop {
            // This loop stood still since the write came: the client may have given it up.
            if services.stalls() != stalls && request.deadline == Version::MAX {
                return Err(Failure::TooLate);
            }
            command.deadline = services.attempt_until(request.floor, request.deadline)?;
            let at = search.next(begun).await?;
            let asked = Asked::Write(keyspace.id, command.encode().into());
            match self.ask(&services, at, asked).await {
                Attempt::Answered(Answer::Done(version)) => {
                    search.found(at);
                    services.observe(version);
                    return Ok(Stamp::new(version, ORIGIN));
                }
                Attempt::Answered(Answer::ConditionFailed(version)) => {
                    search.found(at);
                    let current = version.map(|version| Stamp::new(version, ORIGIN));
                    return Err(Failure::ConditionFailed(current));
                }
                Attempt::Answered(Answer::TooLate(version)) => {
                    // Versions run ahead of this clock, which did not know.
                    if has_learned || !services.observe(version) {
                        return Err(Failure::TooLate);
                    }
                    has_learned = true;
                    search.found(at);
                }
                Attempt::Answered(Answer::NotLeader(leader)) => search.not(at, leader),
                Attempt::Answered(Answer::Busy) => return Err(Failure::Busy),
                Attempt::Answered(Answer::Clock) => {
                    return Err(Failure::Clock(clock_line(&services, at)));
                }
                Attempt::Answered(Answer::Failed(why)) => search.failed(at, why),
                Attempt::Unsent => search.not(at, None),
                Attempt::Answered(_) | Attempt::GivenUp => {
                    search.not(at, None);
                    return Err(Failure::FateUnknown);
                }
            }
        }
    }

    /// Asks what changes nothing, until somebody answers.
    async fn look(&self, asked: Asked) -> Result<Answer, Failure> {
        let services = self.services()?;
        let keyspace = self.keyspace(&services, asked.keyspace())?;
        let begun = Instant::now();
        let mut search = Search::new(self, &services, &keyspace);
        loop {
            let at = search.next(begun).await?;
            match self.ask(&services, at, asked.clone()).await {
                Attempt::Answered(Answer::NotLeader(leader)) => search.not(at, leader),
                Attempt::Answered(Answer::Failed(why)) => search.failed(at, why),
                Attempt::Answered(answer) => {
                    search.found(at);
                    return Ok(answer);
                }
                Attempt::Unsent | Attempt::GivenUp => search.not(at, None),
            }
        }
    }

    async fn ask(&self, services: &Rc<Services>, at: ShardAddress, asked: Asked) -> Attempt {
        if at == services.shard().address() {
            let Some(own) = at_shard(services) else {
                return Attempt::Unsent;
            };
            let answer = timeout(PATIENCE, own.serve(asked)).await;
            return answer.map_or(Attempt::GivenUp, Attempt::Answered);
        }
        if !services.is_reachable(at) {
            return Attempt::Unsent;
        }
        let asking = services.ask(at, NUMBER, asked.encode(), PATIENCE);
        match asking.await {
            Ok(body) => Answer::decode(body).map_or(Attempt::GivenUp, Attempt::Answered),
            Err(CallError::Overloaded | CallError::TooLarge { .. }) => Attempt::Unsent,
            Err(_) => Attempt::GivenUp,
        }
    }

    async fn made(self, keyspace: Keyspace) -> Result<(), Rejected> {
        let begun = Instant::now();
        loop {
            let services = self.services()?;
            let replicas = replicas_of(&keyspace);
            for at in &replicas {
                let asked = Asked::Leads(keyspace.id);
                if let Attempt::Answered(Answer::Value(_)) = self.ask(&services, *at, asked).await {
                    self.leaders.borrow_mut().insert(keyspace.id, *at);
                    return Ok(());
                }
            }
            if begun.elapsed() > MADE_PATIENCE {
                let away = replicas.iter().filter(|at| !services.is_reachable(**at));
                let away: Vec<String> = away.map(|at| services.label_of(*at)).collect();
                let why = match away.is_empty() {
                    true => "its replicas did not choose a leader in time".to_owned(),
                    false => format!("{} cannot be reached", away.join(", ")),
                };
                return Err(Rejected::new(
                    StatusCode::SERVICE_UNAVAILABLE,
                    format!("keyspace {} was not made: {why}; try again", keyspace.name),
                ));
            }
            sleep(PAUSE).await;
        }
    }
}

impl Transactional for Client {
    fn read(&self, keyspace: u32, key: Bytes) -> LocalFuture<Result<Option<Item>, Failure>> {
        let client = self.clone();
        Box::pin(async move {
            match client.look(Asked::Read(keyspace, key)).await? {
                Answer::Value(found) => {
                    Ok(found.map(|(version, value)| item(Bytes::new(), version, value)))
                }
                _ => Err(Failure::Busy),
            }
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
        let client = self.clone();
        Box::pin(async move {
            match client.look(Asked::Page(keyspace, start, end)).await? {
                Answer::Page(items, next) => {
                    let items = items.into_iter();
                    let items = items.map(|(key, version, value)| item(key, version, value));
                    Ok(RangePage {
                        items: items.collect(),
                        next,
                    })
                }
                _ => Err(Failure::Busy),
            }
        })
    }

    fn made(&self, keyspace: Keyspace) -> LocalFuture<Result<(), Rejected>> {
        Box::pin(Client::made(self.clone(), keyspace))
    }

    fn status(&self) -> Vec<RangeStatus> {
        let services = self.services.upgrade();
        services.map_or(Vec::new(), |services| status::of(&services))
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
        value,
    }
}

fn replicas_of(keyspace: &Keyspace) -> Vec<ShardAddress> {
    let replicas = keyspace.range.iter().flat_map(|range| &range.replicas);
    replicas.map(address_of).collect()
}

fn clock_line(services: &Services, at: ShardAddress) -> String {
    format!(
        "the clock of {}, which leads, is not known to be right: see dunlin status",
        services.label_of(at)
    )
}

/// Looks for who leads a keyspace.
struct Search<'a> {
    client: &'a Client,
    services: &'a Rc<Services>,
    keyspace: &'a Keyspace,
    replicas: Vec<ShardAddress>,
    /// Whom to ask next, as another has said.
    hint: Option<ShardAddress>,
    turn: usize,
    asked: usize,
    trouble: Option<String>,
}

impl<'a> Search<'a> {
    fn new(client: &'a Client, services: &'a Rc<Services>, keyspace: &'a Keyspace) -> Search<'a> {
        let replicas = replicas_of(keyspace);
        let own = services.shard().address();
        // Where a replica is here it knows who leads.
        let here = at_shard(services).and_then(|own| own.group(keyspace.id));
        let told = here.and_then(|group| group.at(group.leader()?));
        let last = client.leaders.borrow().get(&keyspace.id).copied();
        let turn = replicas.iter().position(|at| *at == own);
        Search {
            hint: told.or(last).filter(|at| replicas.contains(at)),
            turn: turn.unwrap_or_else(|| services.next_turn()),
            client,
            services,
            keyspace,
            replicas,
            asked: 0,
            trouble: None,
        }
    }

    /// Whom to ask now.
    async fn next(&mut self, begun: Instant) -> Result<ShardAddress, Failure> {
        loop {
            if let Some(hint) = self.hint.take() {
                return Ok(hint);
            }
            // Each once, then a pause: nobody leads yet.
            if self.asked >= self.replicas.len() {
                if begun.elapsed() > PATIENCE {
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
        self.client
            .leaders
            .borrow_mut()
            .insert(self.keyspace.id, at);
        self.hint = Some(at);
    }

    fn not(&mut self, at: ShardAddress, leader: Option<u64>) {
        self.client.leaders.borrow_mut().remove(&self.keyspace.id);
        let told = self
            .replicas
            .iter()
            .find(|to| Some(raft_id(**to)) == leader);
        // Who is said to lead by himself does not, yet.
        self.hint = told.copied().filter(|to| {
            *to != at && self.services.is_reachable(*to) && self.asked < self.replicas.len()
        });
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
        let is_ready = self
            .keyspace
            .range
            .as_ref()
            .is_some_and(|range| range.ready);
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
