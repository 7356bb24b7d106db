//! What plugs into the node: requests of other shards, and how transactional keyspaces are served.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use dunlin_metadata::Role;
use dunlin_node::Services;
use dunlin_node::http::{Answer, Ask, LocalFuture, Need, Rejected, Rule};
use dunlin_node::plug::{Plug, Plugged, Transactional, TxnCounts};
use dunlin_proto::api::Figure;
use dunlin_proto::{CANNOT, Response, ShardAddress};
use dunlin_rpc::{Reply, Sink};
use dunlin_txn::{Answer as Told, Outcome};
use hyper::Method;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::time::{Instant, sleep, timeout};

use crate::client::Client;
use crate::finished::Finished;
use crate::hot::Hot;
use crate::limits::Limits;
use crate::open::Open;
use crate::outcome::count_outcome;
use crate::prepare::{ReplicaReply, ReplicaRequest};
use crate::ranges::AtShard;
use crate::stamps::{Stamps, ahead_ms, greatest};
use crate::steady::Steady;
use crate::step::StepReply;
use crate::survey::Holding;
use crate::wire::{self, ASK, MESSAGES, NUMBER, PREPARE, PROBE, RELAY, SNAPSHOT, STEP, SURVEY};
use crate::{
    direct, http, interactive, interactive_http, keep, recoveries, relay, survey, targets,
};

/// Sets these random numbers apart from others of a shard.
const SECRETS: u64 = 0x7365_6372_6574;

/// How long a shard that stops waits for the answers to other shards.
const ANSWERS: Duration = Duration::from_secs(1);
const LEAVE_PAUSE: Duration = Duration::from_millis(2);

/// Which roles it takes is seen in the body.
const OF_TXN: &[Rule] = &[Rule::new(Method::POST, &[], Need::User)];

/// Which roles its requests take is seen in each.
const OF_DIRECT: &[Rule] = &[Rule::new(Method::GET, &[], Need::User)];

const OF_TARGET: &[Rule] = &[Rule::new(Method::PUT, &[], Need::Everything(Role::Admin))];

const OF_RECOVERY: &[Rule] = &[
    Rule::new(Method::GET, &[], Need::Everything(Role::Admin)),
    Rule::new(Method::POST, &[], Need::Everything(Role::Admin)),
];

const OF_ONE: &[Rule] = &[Rule::new(Method::GET, &["first"], Need::User)];
const OF_END: &[Rule] = &[Rule::new(Method::POST, &["first"], Need::User)];
const OF_SCAN: &[Rule] = &[Rule::new(
    Method::GET,
    &["prefix", "start", "end", "limit"],
    Need::User,
)];
const OF_KEY: &[Rule] = &[
    Rule::new(Method::GET, &["lock"], Need::User),
    Rule::new(Method::PUT, &[], Need::User),
    Rule::new(Method::DELETE, &[], Need::User),
];

/// Transactional keyspaces, with the bounds of their transactions.
#[derive(Debug, Default)]
pub struct Ranges(pub Limits);

impl Plug for Ranges {
    fn attach(&self) -> Rc<dyn Plugged> {
        Rc::new(Part {
            limits: self.0,
            ..Part::default()
        })
    }
}

/// Its part at one shard.
#[derive(Default)]
pub(crate) struct Part {
    /// Bounds of transactions.
    pub limits: Limits,
    /// None before the shard holds anything.
    pub at_shard: RefCell<Option<Rc<AtShard>>>,
    /// Whether an earlier start has held anything here; looked for once.
    pub was_opened: OnceCell<bool>,
    /// Whether another shard wants a replica to be made here, or looks for one: log and store are opened then.
    pub is_offered: Cell<bool>,
    /// Why log and store could not be opened, if so.
    pub trouble: RefCell<Option<String>>,
    /// Who led a range last.
    pub leaders: RefCell<BTreeMap<u64, ShardAddress>>,
    /// Who waits for timestamps.
    pub stamps: Stamps,
    /// Transactions of which all ranges know that they committed: to be told to the holders of their records.
    pub finished: Finished,
    /// Keys that many transactions of one request want.
    pub hot: RefCell<Hot>,
    /// Transactions that last over several requests.
    pub open: Open,
    /// The first call of `elapsed_ms`.
    since: OnceCell<Instant>,
    /// A clock that does not leap ahead.
    steady: Cell<Steady>,
    /// Held by each request of another shard until its answer.
    calls: Rc<()>,
    /// What became of transactions.
    counts: Cell<TxnCounts>,
    /// Where secrets of their ids come from.
    random: RefCell<Option<StdRng>>,
}

/// Counts something of transactions.
pub(crate) fn count(services: &Services, change: impl FnOnce(&mut TxnCounts)) {
    if let Some(part) = services.find::<Part>() {
        let mut counts = part.counts.get();
        change(&mut counts);
        part.counts.set(counts);
    }
}

/// Counts the outcome of a transaction.
pub(crate) fn counted(services: &Services, outcome: &Outcome) {
    count(services, |counts| count_outcome(counts, outcome));
}

impl Part {
    /// What became of transactions.
    pub fn counts(&self) -> TxnCounts {
        TxnCounts {
            open: self.open.count() as u64,
            waiting: self.waiting(),
            expired: self.open.expired(),
            ..self.counts.get()
        }
    }

    /// How many wait for locks at leaders here.
    fn waiting(&self) -> u64 {
        let own = self.at_shard.borrow();
        own.as_ref().map_or(0, |own| own.waiting() as u64)
    }

    /// Milliseconds since the first call; they never go back.
    pub fn elapsed_ms(&self) -> u64 {
        let since = self.since.get_or_init(Instant::now);
        since.elapsed().as_millis() as u64
    }

    /// The clock of a node, but that it does not leap ahead; milliseconds since 1970.
    pub fn steady_ms(&self, services: &Services) -> u64 {
        let mut steady = self.steady.get();
        let now_ms = steady.read(services.now_ms(), self.elapsed_ms());
        self.steady.set(steady);
        now_ms
    }

    /// What nobody guesses who is not told.
    pub fn secret(&self, services: &Services) -> u64 {
        let mut random = self.random.borrow_mut();
        let seeded = || StdRng::seed_from_u64(services.seed() ^ SECRETS);
        random.get_or_insert_with(seeded).random()
    }
}

/// Bounds of transactions.
pub(crate) fn limits(services: &Services) -> Limits {
    let part = services.find::<Part>();
    part.map_or_else(Limits::default, |part| part.limits)
}

/// What a shard holds, where it holds anything.
pub(crate) fn at_shard(services: &Services) -> Option<Rc<AtShard>> {
    services.find::<Part>()?.at_shard.borrow().clone()
}

impl Plugged for Part {
    fn number(&self) -> u8 {
        NUMBER
    }

    fn rules(&self, parts: &[&str]) -> Option<&'static [Rule]> {
        match parts {
            ["ranges", _, _, "target"] => Some(OF_TARGET),
            ["ranges", _, _, "recovery"] => Some(OF_RECOVERY),
            ["direct"] => Some(OF_DIRECT),
            ["txn"] | ["txn", "begin"] => Some(OF_TXN),
            ["txn", _] => Some(OF_ONE),
            ["txn", _, "commit" | "abort"] => Some(OF_END),
            ["txn", _, "keyspaces", _, "keys"] => Some(OF_SCAN),
            ["txn", _, "keyspaces", _, "keys", _, ..] => Some(OF_KEY),
            _ => None,
        }
    }

    fn http(&self, services: Rc<Services>, ask: Ask) -> LocalFuture<Result<Answer, Rejected>> {
        Box::pin(async move {
            match (ask.parts.first().map(String::as_str), ask.parts.last()) {
                (Some("ranges"), Some(last)) if last == "recovery" => {
                    let part = services.find::<Part>();
                    // Log and store are opened first: a replica may be in them.
                    if let Some(part) = &part {
                        part.is_offered.set(true);
                    }
                    let own = move || part.as_ref()?.at_shard.borrow().clone();
                    recoveries::answer(&services, Box::new(own), ask).await
                }
                (Some("ranges"), _) => targets::retarget(&services, ask).await,
                (Some("direct"), _) => direct::answer(&services, ask),
                _ => http::answer(services, ask).await,
            }
        })
    }

    fn transactional(&self, services: &Rc<Services>) -> Option<Rc<dyn Transactional>> {
        Some(Rc::new(Client::new(services)))
    }

    fn figures(&self, services: &Services) -> Vec<Figure> {
        let Some(own) = self.at_shard.borrow().clone() else {
            return Vec::new();
        };
        let shard = services.label_of(services.shard().address());
        let gauge = |name: &str, help: &str, value| Figure {
            name: name.to_owned(),
            help: help.to_owned(),
            is_counter: false,
            labels: vec![("shard".to_owned(), shard.clone())],
            value,
        };
        vec![
            gauge(
                "dunlin_range_log_stall_seconds",
                "Seconds for which the log of ranges has synced nothing, though something waits",
                own.health.stalled_s(),
            ),
            gauge(
                "dunlin_timestamp_ahead_seconds",
                "Seconds by which the newest timestamp that is known here is ahead of the clock",
                ahead_ms(services, greatest(self)) as f64 / 1e3,
            ),
        ]
    }

    fn run(&self, services: &Rc<Services>) {
        // The doubt of a start may be over soon.
        let may_have_forgotten = services.may_have_forgotten();
        let services = Rc::downgrade(services);
        tokio::task::spawn_local(keep::keep(services, may_have_forgotten));
    }

    fn leave(&self, services: &Rc<Services>) -> LocalFuture<()> {
        let (own, services) = (self.at_shard.borrow().clone(), services.clone());
        let calls = self.calls.clone();
        Box::pin(async move {
            if let Some(own) = own {
                own.leave(&services).await;
            }
            // Answers of the former leader go out still.
            let end = Instant::now() + ANSWERS;
            while Rc::strong_count(&calls) > 2 && Instant::now() < end {
                sleep(LEAVE_PAUSE).await;
            }
        })
    }

    fn call(&self, services: &Rc<Services>, mut body: Bytes, reply: Reply<Response>) {
        let kind = body.try_get_u8().unwrap_or(0);
        let own = self.at_shard.borrow().clone();
        if kind == STEP {
            let Ok((id, within, step)) = interactive_http::decode(body) else {
                return reply.refuse(CANNOT, "malformed bytes from another shard");
            };
            let client = Client::within(services, within);
            tokio::task::spawn_local(async move {
                let stepped = interactive::step(&client, id, step).await;
                reply.send(Response::Plug(interactive_http::encode_reply(&stepped)));
            });
            return;
        }
        if kind == SURVEY {
            let Ok(group) = survey::decode_request(body) else {
                return reply.refuse(CANNOT, "malformed bytes from another shard");
            };
            // Log and store are opened first: a replica may be in them.
            self.is_offered.set(true);
            let holding = own.map_or(Holding::Unknown, |own| own.survey(group));
            return reply.send(Response::Plug(holding.encode()));
        }
        if matches!(kind, PROBE | PREPARE) {
            let Ok(request) = ReplicaRequest::decode(body) else {
                return reply.refuse(CANNOT, "malformed bytes from another shard");
            };
            let Some(own) = own else {
                // Log and store are opened first: a replica may be in them.
                self.is_offered.set(true);
                return reply.send(Response::Plug(ReplicaReply::Unknown.encode()));
            };
            let services = services.clone();
            tokio::task::spawn_local(async move {
                let answer = own.answer(&services, kind, request).await;
                reply.send(Response::Plug(answer.encode()));
            });
            return;
        }
        if kind == RELAY {
            let Ok((to, within, request)) = wire::decode_relay(body) else {
                return reply.refuse(CANNOT, "malformed bytes from another shard");
            };
            let unsent = match request.first() {
                Some(&STEP) => interactive_http::encode_reply(&StepReply::Away),
                _ => Told::NotLeader(None).encode(),
            };
            let services = services.clone();
            tokio::task::spawn_local(async move {
                match relay::pass_on(&services, to, within, request, unsent).await {
                    Ok(answer) => reply.send(Response::Plug(answer)),
                    Err(relay::Unanswered) => {
                        reply.refuse(CANNOT, "it was passed on, and not answered")
                    }
                }
            });
            return;
        }
        let decoded = match kind {
            ASK => wire::decode(body).ok(),
            _ => None,
        };
        let Some((range, within, request)) = decoded else {
            return reply.refuse(CANNOT, "malformed bytes from another shard");
        };
        let client = Client::within(services, within);
        let held = self.calls.clone();
        tokio::task::spawn_local(async move {
            let _held = held;
            // When its time is over its client has given up.
            let left = client.left();
            let answer = match own {
                Some(own) => timeout(left, own.serve(client, range, request))
                    .await
                    .unwrap_or(Told::Unknown),
                None => Told::NotLeader(None),
            };
            reply.send(Response::Plug(answer.encode()));
        });
    }

    fn notice(&self, _: &Rc<Services>, mut body: Bytes) {
        let own = self.at_shard.borrow().clone();
        if let (Some(own), Ok(MESSAGES)) = (own, body.try_get_u8()) {
            own.take_messages(body);
        }
    }

    fn open(&self, _: &Rc<Services>, mut body: Bytes, sink: Sink<Response>) {
        let own = self.at_shard.borrow().clone();
        match (own, body.try_get_u8()) {
            (Some(own), Ok(SNAPSHOT)) => sink.work(move |sink| own.send_snapshot(body, sink)),
            _ => sink.refuse(CANNOT, "no replica of a range is here"),
        }
    }
}
