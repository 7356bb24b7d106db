//! All that is beside ranges: time, chance, the oracle, and a network that is late, loses and repeats.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use dunlin_entry::Version;
use dunlin_history::Transaction;
use dunlin_txn::{Answer, Command, Oracle, Request, Unheard, Wall, World, serve};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use crate::bugs::Bug;
use crate::range::{Here, Range};
use crate::sums::Sums;

/// A leader leaves intents alone for so long, in milliseconds.
const INTENT_MS: u64 = 200;
/// A request of a client has so much time, in milliseconds.
const REQUEST_MS: u64 = 5_000;
/// Milliseconds at the beginning.
const BEGIN_MS: u64 = 1_000_000;
/// A request that is not answered within this was lost.
const TIMEOUT: Duration = Duration::from_millis(300);
/// How long a leader is waited for.
const PATIENCE: Duration = Duration::from_millis(1_000);
/// Records are kept for so long, in milliseconds: longer than any transaction takes.
const RETENTION_MS: u64 = 8_000;

/// A leader of the oracle and those it has followed.
struct Oracles {
    leader: Oracle,
    former: Option<Oracle>,
    end: Version,
}

/// One run.
pub struct Model {
    pub bug: Bug,
    random: RefCell<StdRng>,
    begun: Instant,
    oracles: RefCell<Oracles>,
    pub ranges: RefCell<Vec<Rc<Range>>>,
    pub is_calm: Cell<bool>,
    moment: Cell<u64>,
    pub history: RefCell<Vec<Transaction>>,
    pub next_value: Cell<u64>,
    scans: Cell<u64>,
    /// A keyspace of the run was purged, or will be.
    pub has_purged: Cell<bool>,
    /// Additions to counters.
    pub sums: RefCell<Sums>,
    /// What is wrong, if a client has noticed it.
    pub broken: RefCell<Option<String>>,
}

impl Model {
    pub fn new(seed: u64, bug: Bug) -> Rc<Model> {
        Rc::new(Model {
            bug,
            random: RefCell::new(StdRng::seed_from_u64(seed)),
            begun: Instant::now(),
            oracles: RefCell::new(Oracles {
                leader: Oracle::new(Version(0)),
                former: None,
                end: Version(0),
            }),
            ranges: RefCell::default(),
            is_calm: Cell::new(false),
            moment: Cell::new(0),
            history: RefCell::default(),
            next_value: Cell::new(0),
            scans: Cell::new(0),
            has_purged: Cell::new(false),
            sums: RefCell::default(),
            broken: RefCell::default(),
        })
    }

    pub fn below(&self, bound: u64) -> u64 {
        self.random.borrow_mut().random_range(0..bound)
    }

    pub fn one_in(&self, of: u64) -> bool {
        !self.is_calm.get() && self.below(of) == 0
    }

    pub fn ms(&self, least: u64, most: u64) -> Duration {
        let us = self
            .random
            .borrow_mut()
            .random_range(1_000 * least..=1_000 * most);
        Duration::from_micros(us)
    }

    pub fn moment(&self) -> u64 {
        self.moment.set(self.moment.get() + 1);
        self.moment.get()
    }

    pub fn scan_number(&self) -> u64 {
        if self.bug != Bug::ScansMixed {
            self.scans.set(self.scans.get() + 1);
        }
        self.scans.get()
    }

    pub fn now_ms(&self) -> u64 {
        BEGIN_MS + self.begun.elapsed().as_millis() as u64
    }

    pub fn watermark(&self) -> Version {
        Version::new(self.now_ms().saturating_sub(RETENTION_MS), 0)
    }

    /// A timestamp of who leads the oracle now, above this one.
    pub fn timestamp_now(&self, above: Version) -> Version {
        let now = Version::new(self.now_ms(), 0);
        let oracles = &mut *self.oracles.borrow_mut();
        loop {
            match oracles.leader.take(now, above, 1) {
                Ok(at) => return at,
                Err(full) => {
                    oracles.end = oracles.end.max(full.next_end);
                    oracles.leader.extend(full.next_end);
                }
            }
        }
    }

    /// Another leads the oracle.
    pub fn change_oracle(&self) {
        let oracles = &mut *self.oracles.borrow_mut();
        let next = Oracle::new(oracles.end);
        oracles.former = Some(std::mem::replace(&mut oracles.leader, next));
    }

    pub fn world(self: Rc<Self>) -> Net {
        let until_ms = self.now_ms() + REQUEST_MS;
        Net {
            model: self,
            until_ms,
        }
    }
}

/// The way to all else.
pub struct Net {
    pub model: Rc<Model>,
    until_ms: u64,
}

impl Net {
    /// Asks until somebody leads.
    async fn deliver(model: Rc<Model>, range: u64, request: Request) -> Result<Answer, Unheard> {
        let begun = Instant::now();
        loop {
            sleep(model.ms(0, 3)).await;
            let mut at = model.ranges.borrow()[range as usize].clone();
            if at.is_purged.get() {
                return purged(&request);
            }
            // Some nodes do not know of a drop yet.
            let ends = matches!(
                request,
                Request::Push { .. }
                    | Request::Enter(Command::Finalize { .. } | Command::Finished { .. })
            );
            if at.drops.get() % 2 == 1 && !ends && model.below(3) > 0 {
                return Err(Unheard::Not("it is dropped".to_owned()));
            }
            let former = at.former.borrow().clone();
            if let Some(former) = former.filter(|_| model.one_in(3)) {
                at = former;
            }
            if let (
                Bug::RefreshNotNoted,
                Request::Unchanged {
                    at: to,
                    since,
                    spans,
                },
            ) = (model.bug, &request)
            {
                let changed = at.changed(*since, *to, spans);
                return Ok(changed.map_or(Answer::Done(*to), Answer::Changed));
            }
            let unwritten = matches!(request, Request::Push { aborts: true, .. });
            if unwritten && model.bug == Bug::PushUnwritten {
                return Ok(Answer::Aborted);
            }
            let world = model.clone().world();
            match serve(&world, &Here(at), request.clone()).await {
                Answer::NotLeader(_) if begun.elapsed() > PATIENCE => {
                    return Err(Unheard::Not("nobody leads".to_owned()));
                }
                Answer::NotLeader(_) => sleep(model.ms(1, 20)).await,
                answer => return Ok(answer),
            }
        }
    }
}

/// The answer of a node for a purged keyspace, by the record of its purge alone.
fn purged(request: &Request) -> Result<Answer, Unheard> {
    match request {
        // Ranges know the outcomes that they need; clients do not.
        Request::Push { .. } => Ok(Answer::Forgotten),
        Request::Enter(Command::Finalize { .. }) => Ok(Answer::Done(Version(0))),
        _ => Err(Unheard::Not("it is purged".to_owned())),
    }
}

impl World for Net {
    fn wall(&self) -> Wall {
        Wall::UNKNOWN
    }

    async fn ask(&self, range: u64, request: Request) -> Result<Answer, Unheard> {
        let model = &self.model;
        // A write of one key that comes twice is two writes, for it has no name.
        let has_name = match &request {
            Request::Write { .. } => false,
            Request::Update(update) => update.id.is_some(),
            _ => true,
        };
        let is_doubled = has_name && model.one_in(40);
        if is_doubled {
            // It comes twice.
            let again = Net::deliver(model.clone(), range, request.clone());
            let after = model.ms(0, 400);
            tokio::task::spawn_local(async move {
                sleep(after).await;
                drop(again.await);
            });
        }
        let is_close = matches!(request, Request::Enter(Command::Close { .. }));
        if is_close && model.bug == Bug::NotClosed {
            return Ok(Answer::Done(Version(0)));
        }
        let is_place = matches!(request, Request::Enter(Command::Place { .. }));
        let (waiter, answer) = oneshot::channel();
        if model.one_in(40) {
            drop(waiter);
        } else {
            let delivered = Net::deliver(model.clone(), range, request);
            tokio::task::spawn_local(async move { drop(waiter.send(delivered.await)) });
        }
        if model.one_in(40) {
            sleep(TIMEOUT).await;
            return Err(Unheard::Maybe);
        }
        match answer.await {
            Ok(Ok(Answer::Blocked(_))) if is_place && model.bug == Bug::FailedIntent => {
                Ok(Answer::Done(Version(0)))
            }
            // The other one may happen.
            Ok(Err(Unheard::Not(_))) if is_doubled => Err(Unheard::Maybe),
            Ok(answered) => answered,
            Err(_) => {
                sleep(TIMEOUT).await;
                Err(Unheard::Maybe)
            }
        }
    }

    async fn timestamp(&self, above: Version) -> Result<Version, Answer> {
        let model = &self.model;
        sleep(model.ms(0, 2)).await;
        if model.bug == Bug::OldWindow && model.one_in(10) {
            let former = &mut model.oracles.borrow_mut().former;
            if let Some(former) = former
                && let Ok(at) = former.take(Version::new(model.now_ms(), 0), above, 1)
            {
                return Ok(at);
            }
        }
        let at = model.timestamp_now(above);
        sleep(model.ms(0, 2)).await;
        Ok(at)
    }

    async fn pause(&self, ms: u64) {
        sleep(Duration::from_millis(ms)).await;
    }

    fn elapsed_ms(&self) -> u64 {
        self.model.now_ms()
    }

    fn left_ms(&self) -> u64 {
        self.until_ms.saturating_sub(self.model.now_ms())
    }

    fn intent_ms(&self) -> u64 {
        INTENT_MS
    }
}
