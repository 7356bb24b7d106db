//! Clients of transactions over ranges: they read lists and append to them; the history must have one order that
//! respects real time.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_history::{Outcome, Step, Transaction};
use dunlin_node::Clock;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{IDLE, Nodes, next_step};
use crate::harness::ask::{Ask, Told, Verb, of_verb};
use crate::harness::clock::SimClock;
use crate::harness::cluster::SIDES;
use crate::harness::host::{Shared, node_name};
use crate::plan::{Plan, pick};

/// Lists, in three ranges.
pub(super) const LISTS: u16 = 6;
/// How long all lists are read again in the end, in milliseconds.
const PATIENCE_MS: u64 = 30_000;
/// Longest wait for one answer then.
const TIMEOUT_MS: u64 = 8_000;

/// Counters in two ranges; each addition is to both.
const COUNTERS: [&str; 2] = ["hits", "zhits"];

/// One client.
pub struct Client {
    number: usize,
    shared: Rc<Shared>,
    nodes: Nodes,
    random: StdRng,
}

/// What an attempt came to.
enum Done {
    Ok(Value),
    /// It has no effect; and neither has any attempt before it, if that is said.
    Not {
        is_final: bool,
    },
    Unknown,
}

impl Client {
    /// The client with this number.
    pub fn new(number: usize, shared: Rc<Shared>, nodes: Nodes) -> Client {
        let seed = shared.plan.seed ^ 0x7478_6e73 ^ (number as u64 + 1) << 40;
        Client {
            number,
            random: StdRng::seed_from_u64(seed),
            shared,
            nodes,
        }
    }

    /// Goes on for ever.
    pub async fn work(mut self) {
        loop {
            next_step(&self.shared, &mut self.random, 150).await;
            self.step().await;
        }
    }

    /// Adds one to both counters, which everybody does.
    async fn add(&mut self) {
        let write = |key| json!({"keyspace": "range", "key": key, "add": 1});
        let body = json!({"writes": COUNTERS.map(write)});
        let done = self.ask(&body).await;
        let mut additions = self.shared.txns.additions.get();
        match done {
            Done::Ok(_) => additions.done += 1,
            Done::Unknown => additions.unknown += 1,
            Done::Not { .. } => {}
        }
        self.shared.txns.additions.set(additions);
    }

    async fn step(&mut self) {
        if self.random.random_bool(0.3) {
            return self.add().await;
        }
        let shared = self.shared.clone();
        let mut keys: Vec<u16> = (0..3).map(|_| self.random.random_range(0..LISTS)).collect();
        // Lists of purged keyspaces cannot be read.
        if !keys
            .iter()
            .all(|key| shared.is_in_use(home(&shared.plan, *key)))
        {
            keys.retain(|key| key % 3 == 0 || self.random.random_bool(0.5));
            keys.push(0);
        }
        keys.truncate(self.random.random_range(1..=3));
        keys.sort_unstable();
        keys.dedup();
        let is_read = self.random.random_bool(0.3);
        let appends: Vec<Step> = if is_read {
            Vec::new()
        } else {
            (keys.iter())
                .map(|key| Step::Append(name(*key), shared.next_range_value()))
                .collect()
        };
        let invoked = shared.ranges.moment();
        let (steps, outcome) = self.append(&keys, &appends).await;
        let process = self.number as u64;
        note(&shared, "txn", (process, invoked), steps, outcome);
    }

    async fn append(&mut self, keys: &[u16], appends: &[Step]) -> (Vec<Step>, Outcome) {
        let only = || appends.to_vec();
        let Done::Ok(told) = self
            .ask(&json!({"reads": reads(&self.shared.plan, keys)}))
            .await
        else {
            return (only(), Outcome::Failed);
        };
        let lists: Vec<Vec<u64>> = (0..keys.len())
            .map(|n| list_of(&told["reads"][n]))
            .collect();
        let mut steps: Vec<Step> = keys
            .iter()
            .zip(&lists)
            .map(|(key, list)| Step::Read(name(*key), list.clone()))
            .collect();
        let returned = |client: &Client| Outcome::Ok {
            returned: client.shared.ranges.moment(),
        };
        if appends.is_empty() {
            return (steps, returned(self));
        }
        let (mut checks, mut writes) = (Vec::new(), Vec::new());
        for (number, key) in keys.iter().enumerate() {
            let mut check = place(&self.shared.plan, *key);
            match told["reads"][number]["version"].as_str() {
                Some(version) => check["version"] = version.into(),
                None => check["exists"] = false.into(),
            }
            checks.push(check);
            let mut list = lists[number].clone();
            if let Some(Step::Append(_, value)) = appends.get(number) {
                list.push(*value);
            }
            let mut write = place(&self.shared.plan, *key);
            write["value"] = text_of(&list).into();
            writes.push(write);
        }
        // The holder of the record is any of them.
        writes.rotate_left(self.random.random_range(0..keys.len()));
        let mut body = json!({"checks": checks, "writes": writes});
        let is_named = self.random.random_bool(0.5);
        if is_named {
            let now_ms = SimClock::new(self.shared.time.clone(), 0).now_ms();
            let value = self.shared.next_range_value();
            body["id"] = format!("{now_ms}-{}-{value}", self.number).into();
        }
        let mut done = self.ask(&body).await;
        let mut repeats = 0;
        while is_named && repeats < 3 && matches!(done, Done::Unknown) {
            repeats += 1;
            done = match self.ask(&body).await {
                Done::Not { is_final: false } => Done::Unknown,
                done => done,
            };
        }
        match done {
            Done::Ok(told) if told["repeated"] == true => {
                steps = only();
                (steps, returned(self))
            }
            Done::Ok(_) => {
                steps.extend(only());
                (steps, returned(self))
            }
            Done::Not { .. } => (only(), Outcome::Failed),
            Done::Unknown => (only(), Outcome::Unknown { until: None }),
        }
    }

    async fn ask(&mut self, body: &Value) -> Done {
        let timeout_ms = *pick(&mut self.random, &[400, 2_000, 6_000]);
        let host = self.random.random_range(0..self.nodes.len());
        let asked = self.nodes[host].call(ask(body), Duration::from_millis(timeout_ms));
        done(asked.await.ok())
    }
}

fn done(told: Option<Told>) -> Done {
    match told {
        Some(Told::Http(200, body)) => match serde_json::from_slice(&body) {
            Ok(told) => Done::Ok(told),
            Err(_) => Done::Unknown,
        },
        Some(Told::Http(504, _)) | None => Done::Unknown,
        Some(Told::Http(409 | 412, _)) => Done::Not { is_final: true },
        Some(_) => Done::Not { is_final: false },
    }
}

pub(super) fn name(key: u16) -> String {
    format!("list/{}/{}", key % 3, key / 3)
}

/// A transaction has ended: what it has read counts where it is done.
pub(super) fn note(
    shared: &Shared,
    kind: &str,
    (process, invoked): (u64, u64),
    mut steps: Vec<Step>,
    outcome: Outcome,
) {
    if !matches!(outcome, Outcome::Ok { .. }) {
        steps.retain(|step| matches!(step, Step::Append(..)));
    }
    shared.mix((kind, invoked, &steps, outcome));
    shared.txns.history.borrow_mut().push(Transaction {
        process,
        steps,
        invoked,
        outcome,
    });
}

/// A list as it is stored.
pub(super) fn text_of(list: &[u64]) -> String {
    list.iter().map(|value| format!("{value},")).collect()
}

/// The keyspace of a list.
pub(super) fn home(plan: &Plan, key: u16) -> &'static str {
    match key % 3 {
        side @ 1.. if plan.range_faults.drops => SIDES[usize::from(side) - 1],
        _ => "range",
    }
}

fn place(plan: &Plan, key: u16) -> Value {
    json!({"keyspace": home(plan, key), "key": name(key)})
}

fn reads(plan: &Plan, keys: &[u16]) -> Vec<Value> {
    keys.iter().map(|key| place(plan, *key)).collect()
}

fn list_of(read: &Value) -> Vec<u64> {
    list_in(read["value"].as_str().unwrap_or_default())
}

/// A list as it is stored.
pub(super) fn list_in(text: &str) -> Vec<u64> {
    text.split_terminator(',')
        .filter_map(|value| value.parse().ok())
        .collect()
}

fn ask(body: &Value) -> Ask {
    over_http("POST /v1/txn".to_owned(), body.to_string().into())
}

pub(super) fn over_http(line: String, body: Bytes) -> Ask {
    of_verb(Verb::Http(line, body))
}

/// Reads all lists at once through a node, in the end, where no range has lost what it held.
pub async fn read_all(shared: &Rc<Shared>, nodes: &Nodes, host: usize, machine: usize) {
    if !shared.plan.ranges {
        return;
    }
    let is_there = |key: &u16| shared.is_in_use(home(&shared.plan, *key));
    let keys: Vec<u16> = (0..LISTS).filter(is_there).collect();
    let until_ms = shared.time.elapsed_ms() + PATIENCE_MS;
    loop {
        let invoked = shared.ranges.moment();
        let mut wanted = reads(&shared.plan, &keys);
        wanted.extend(COUNTERS.map(|key| json!({"keyspace": "range", "key": key})));
        let body = json!({ "reads": wanted });
        let asked = nodes[machine].call(ask(&body), Duration::from_millis(TIMEOUT_MS));
        let told = asked.await;
        let shown = told
            .as_ref()
            .map_or_else(|error| error.to_string(), |told| format!("{told:?}"));
        if let Done::Ok(told) = done(told.ok()) {
            let counter = |n: usize| {
                let value = told["reads"][keys.len() + n]["value"].as_str();
                value.and_then(|value| value.parse().ok()).unwrap_or(0)
            };
            let mut additions = shared.txns.additions.get();
            additions.read = Some([counter(0), counter(1)]);
            shared.txns.additions.set(additions);
            let lists = keys.iter().enumerate();
            let steps = lists.map(|(n, key)| Step::Read(name(*key), list_of(&told["reads"][n])));
            let transaction = Transaction {
                process: 1_000 + host as u64,
                steps: steps.collect(),
                invoked,
                outcome: Outcome::Ok {
                    returned: shared.ranges.moment(),
                },
            };
            shared.mix(("txn last read", &transaction.steps));
            shared.txns.history.borrow_mut().push(transaction);
            return;
        }
        if shared.time.elapsed_ms() >= until_ms {
            if !shared.is_range_lost.get() {
                let text = format!(
                    "{} does not answer reads of lists: {shown}",
                    node_name(host)
                );
                shared.unanswered.borrow_mut().get_or_insert(text);
            }
            return;
        }
        sleep(IDLE).await;
    }
}
