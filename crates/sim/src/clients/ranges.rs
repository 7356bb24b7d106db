//! Clients of the transactional keyspace: what they do is judged as what one register a key would do, conditions
//! among it.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_entry::Stamp;
use dunlin_history::Kind;
use dunlin_node::Quorum;
use dunlin_proto::Condition;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::time::sleep;

use super::attempts::{Attempt, Attempts};
use super::{IDLE, Nodes, next_step};
use crate::harness::ask::{Ask, Told, Verb};
use crate::harness::clock::SimClock;
use crate::harness::host::{Shared, node_name};
use crate::history::{value_of, write_of};
use crate::plan::pick;

/// Different keys: few, so that clients meet.
const KEYS: u16 = 3;
/// How long a key is read again in the end, in milliseconds.
const PATIENCE_MS: u64 = 30_000;
/// Longest wait for one answer then.
const TIMEOUT_MS: u64 = 6_000;

/// One client.
pub struct Client {
    number: usize,
    shared: Rc<Shared>,
    nodes: Nodes,
    clock: SimClock,
    random: StdRng,
    /// Whether it only reads, one key and all the time.
    is_reader: bool,
    /// What it last saw of a key: what there was, and what a condition must name.
    last: Option<(u16, Option<u64>, Condition)>,
}

impl Client {
    /// The client with this number.
    pub fn new(
        number: usize,
        shared: Rc<Shared>,
        nodes: Nodes,
        clock: SimClock,
        is_reader: bool,
    ) -> Client {
        let seed = shared.plan.seed ^ 0x4a46_e500 ^ (number as u64 + 1) << 40;
        Client {
            number,
            random: StdRng::seed_from_u64(seed),
            nodes,
            clock,
            shared,
            is_reader,
            last: None,
        }
    }

    /// Goes on for ever.
    pub async fn work(mut self) {
        let longest_ms = if self.is_reader { 10 } else { 120 };
        loop {
            next_step(&self.shared, &mut self.random, longest_ms).await;
            self.step().await;
        }
    }

    async fn step(&mut self) {
        if self.is_reader {
            return self.read(0).await;
        }
        let key = self.random.random_range(0..KEYS);
        match self.random.random_range(0..10) {
            0..3 => self.read(key).await,
            3..5 => self.write(key, None).await,
            5 => self.delete(key).await,
            _ => {
                let (key, expected, condition) =
                    self.last.take().unwrap_or((key, None, Condition::Absent));
                self.write(key, Some((expected, condition))).await;
            }
        }
    }

    fn host(&mut self) -> usize {
        self.random.random_range(0..self.nodes.len())
    }

    /// Asks one node, once: whether a write happened is unknown when it is not told.
    async fn ask(&mut self, key: u16, verb: Verb) -> Option<Told> {
        let timeout_ms = *pick(&mut self.random, &[400, 1_500, 4_000]);
        let (host, deadlines) = (self.host(), self.random.random_bool(0.5));
        let ask = ask(&self.shared, key, verb);
        let nodes = self.nodes.clone();
        let mut attempts = Attempts::new(&nodes, &self.clock, deadlines);
        match attempts.at(host, ask, timeout_ms).await {
            Attempt::Answered(told) => Some(told),
            Attempt::NotSent | Attempt::GivenUp(_) => None,
        }
    }

    async fn read(&mut self, key: u16) {
        let shared = self.shared.clone();
        let call = shared
            .ranges
            .begin(self.number as u64, &name(key), Kind::Get(None));
        match self.ask(key, Verb::Get).await {
            Some(Told::Found(found)) => {
                let value = found.as_ref().and_then(|(_, value)| write_of(value));
                shared.mix(("range read", key, value));
                call.found(value);
                let condition = found.map_or(Condition::Absent, |(stamp, _)| Condition::Is(stamp));
                self.last = Some((key, value, condition));
            }
            _ => call.unknown(),
        }
    }

    async fn write(&mut self, key: u16, condition: Option<(Option<u64>, Condition)>) {
        let shared = self.shared.clone();
        let id = shared.next_range_value();
        let kind = match condition {
            None => Kind::Put(id),
            Some((expected, _)) => Kind::Swap {
                expected,
                value: Some(id),
            },
        };
        let bytes = self.random.random_range(8..=shared.plan.value_bytes_max);
        let call = shared.ranges.begin(self.number as u64, &name(key), kind);
        let condition = condition.map_or(Condition::None, |(_, condition)| condition);
        let verb = Verb::Put(condition, None, value_of(id, bytes));
        match self.ask(key, verb).await {
            Some(Told::Written(stamp)) => {
                shared.mix(("range write", key, id));
                call.ok();
                self.saw(key, id, stamp);
            }
            Some(Told::ConditionFailed) => {
                shared.mix(("range unmet", key, id));
                call.unmet();
            }
            _ => call.unknown(),
        }
    }

    fn saw(&mut self, key: u16, id: u64, stamp: Stamp) {
        self.last = Some((key, Some(id), Condition::Is(stamp)));
    }

    async fn delete(&mut self, key: u16) {
        let shared = self.shared.clone();
        let call = shared
            .ranges
            .begin(self.number as u64, &name(key), Kind::Delete);
        match self.ask(key, Verb::Delete).await {
            Some(Told::Written(_)) => {
                shared.mix(("range delete", key));
                call.ok();
                self.last = Some((key, None, Condition::Absent));
            }
            _ => call.unknown(),
        }
    }
}

fn name(key: u16) -> String {
    format!("range/{key}")
}

fn ask(shared: &Shared, key: u16, verb: Verb) -> Ask {
    Ask {
        keyspace: shared.range.unwrap_or_default(),
        quorum: Quorum { ack: 1, from: 1 },
        deadline_ms: None,
        after_ms: None,
        key: Bytes::from(name(key)),
        verb,
    }
}

/// Reads every key through a node, in the end, where a majority has not lost what it held.
pub async fn read_all(shared: &Rc<Shared>, nodes: &Nodes, host: usize, machine: usize) {
    if !shared.plan.ranges {
        return;
    }
    let until_ms = shared.time.elapsed_ms() + PATIENCE_MS;
    for key in 0..KEYS {
        loop {
            let process = 1_000 + host as u64;
            let call = shared.ranges.begin(process, &name(key), Kind::Get(None));
            let asked = ask(shared, key, Verb::Get);
            let told = nodes[machine]
                .call(asked, Duration::from_millis(TIMEOUT_MS))
                .await;
            if let Ok(Told::Found(found)) = told {
                let value = found.and_then(|(_, value)| write_of(&value));
                shared.mix(("range last read", key, value));
                call.found(value);
                break;
            }
            call.unknown();
            if shared.time.elapsed_ms() >= until_ms {
                if !shared.is_range_lost.get() {
                    let told =
                        told.map_or_else(|error| error.to_string(), |told| format!("{told:?}"));
                    let text = format!(
                        "{} does not answer reads of the range: {told}",
                        node_name(host)
                    );
                    shared.unanswered.borrow_mut().get_or_insert(text);
                }
                return;
            }
            sleep(IDLE).await;
        }
    }
}
