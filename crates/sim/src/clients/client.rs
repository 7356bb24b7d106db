//! A client: reads and writes at random.

use std::rc::Rc;
use std::time::Duration;

use dunlin_entry::Stamp;
use dunlin_node::Quorum;
use dunlin_proto::Condition;
use dunlin_proto::pairs::Pairs;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::time::sleep;

use super::Nodes;
use super::attempts::{Attempt, Attempts};
use crate::harness::ask::{Ask, Told, Verb};
use crate::harness::clock::SimClock;
use crate::harness::host::{Phase, Shared};
use crate::history::{
    Ended, Expect, Moment, Place, Read, Seen, Write, key_name, value_of, write_of,
};
use crate::plan::pick;

const IDLE: Duration = Duration::from_millis(50);
/// Keys of one request at most.
const BULK_KEYS_MAX: u16 = 12;
/// Values that expire do so in a day: in no run, unless a clock is believed that is years ahead.
const EXPIRES_IN_MS: u64 = 86_400_000;

/// What a client does next to a key.
#[derive(Clone, Copy)]
enum Wish {
    Put(Option<(Condition, Expect)>),
    Delete,
}

/// One client.
pub struct Client {
    number: usize,
    shared: Rc<Shared>,
    nodes: Nodes,
    clock: SimClock,
    random: StdRng,
    /// The node it asks first.
    preferred: usize,
    /// Whether it sends deadlines and tries again; else it is a plain one, which does neither.
    tries_again: bool,
    /// What it last saw, for conditions.
    last: Option<(Place, Condition, Expect)>,
}

impl Client {
    /// The client with this number.
    pub fn new(number: usize, shared: Rc<Shared>, nodes: Nodes, clock: SimClock) -> Client {
        let mut random = StdRng::seed_from_u64(shared.plan.seed ^ (number as u64 + 1) << 32);
        Client {
            number,
            preferred: random.random_range(0..nodes.len()),
            tries_again: random.random_bool(0.8),
            random,
            nodes,
            clock,
            shared,
            last: None,
        }
    }

    /// Goes on for ever.
    pub async fn work(mut self) {
        let shared = self.shared.clone();
        loop {
            match shared.phase.get() {
                Phase::Work => {
                    let pause = self.random.random_range(0..=shared.plan.pause_ms_max);
                    sleep(Duration::from_millis(pause)).await;
                    self.step().await;
                }
                Phase::Quiet | Phase::FinalReads => sleep(IDLE).await,
            }
        }
    }

    fn place(&mut self) -> Place {
        let plan = &self.shared.plan;
        (
            self.random.random_range(0..plan.keyspaces.len()),
            self.random.random_range(0..plan.keys),
        )
    }

    /// A majority of all replicas; for some keys, any other numbers too.
    fn quorum(&mut self, place: Place) -> Quorum {
        let plan = &self.shared.plan;
        if plan.is_majority(place) {
            let few = if plan.conditions { 0.6 } else { 0.9 };
            let ack = if self.random.random_bool(few) { 2 } else { 3 };
            return Quorum { ack, from: 3 };
        }
        // A value kept by more nodes than its keyspace says outlives a forgotten delete there.
        let nodes = if plan.forgets_deletes(place.0) {
            3
        } else {
            self.members()
        };
        if self.random.random_bool(0.4) {
            return Quorum { ack: 2, from: 3 };
        }
        let from = self.random.random_range(1..=nodes);
        Quorum {
            ack: self.random.random_range(1..=from),
            from,
        }
    }

    /// Nodes that hold data, now and after the change under way; a store that has lost its memory
    /// names none.
    fn members(&self) -> u8 {
        self.shared.members_min().max(1)
    }

    async fn step(&mut self) {
        let place = self.place();
        if self.shared.plan.bulk && self.random.random_bool(0.15) {
            return self.bulk(place).await;
        }
        match self.random.random_range(0..100) {
            14..38 if self.shared.plan.conditions => self.write_if(place).await,
            0..38 => self.write(place, Wish::Put(None)).await,
            38..55 => self.write(place, Wish::Delete).await,
            55..63 => self.write_if(place).await,
            63..97 => self.read(place).await,
            _ => self.scan(place).await,
        }
    }

    /// Writes on a condition: on what was seen last, or on there being a value, or none.
    async fn write_if(&mut self, place: Place) {
        // What a condition asks for may end meanwhile.
        if self.shared.plan.ends_at(place) {
            return self.write(place, Wish::Put(None)).await;
        }
        let (place, condition, expect) = match self.last.take() {
            Some(last) => last,
            None if self.random.random_bool(0.5) => (place, Condition::Absent, Expect::Absent),
            None => (place, Condition::Present, Expect::Present),
        };
        let wish = Wish::Put(Some((condition, expect)));
        self.write(place, wish).await;
    }

    fn timeout_ms(&mut self) -> u64 {
        *pick(&mut self.random, &[150, 400, 1_000, 2_500])
    }

    /// The node for an attempt: the preferred one mostly, another after each that failed.
    fn node(&mut self, attempt: usize) -> usize {
        if attempt == 0 && self.random.random_bool(0.3) || attempt > 0 {
            let step = self.random.random_range(1..self.nodes.len());
            self.preferred = (self.preferred + step) % self.nodes.len();
        }
        self.preferred
    }

    fn ask(&self, place: Place, quorum: Quorum, verb: Verb) -> Ask {
        Ask {
            keyspace: self.shared.keyspaces[place.0],
            quorum,
            deadline_ms: None,
            after_ms: None,
            key: match verb {
                Verb::Scan => bytes::Bytes::new(),
                _ => key_name(place.1),
            },
            verb,
        }
    }

    async fn write(&mut self, place: Place, wish: Wish) {
        let shared = self.shared.clone();
        let quorum = self.quorum(place);
        let bytes = self.random.random_range(8..=shared.plan.value_bytes_max);
        let condition = match wish {
            Wish::Put(condition) => condition,
            Wish::Delete => None,
        };
        let expires =
            matches!(wish, Wish::Put(_)) && shared.plan.expires && self.random.random_bool(0.5);
        let ends_in_ms = match wish {
            Wish::Put(None) if shared.plan.ends_at(place) => self.end(),
            _ => None,
        };
        let expires = expires && ends_in_ms.is_none();
        let (client, begun_ms) = (self.number, shared.time.elapsed_ms());
        let id = shared.history.borrow_mut().begin_write(Write {
            delete: matches!(wish, Wish::Delete),
            expect: condition.map(|(_, expect)| expect),
            expires,
            ends_in_ms,
            ..Write::put(place, client, (quorum.ack, quorum.from), begun_ms)
        });
        let verb = match wish {
            Wish::Put(condition) => Verb::Put(
                condition.map_or(Condition::None, |(condition, _)| condition),
                expires.then_some(EXPIRES_IN_MS).or(ends_in_ms),
                value_of(id, bytes),
            ),
            Wish::Delete => Verb::Delete,
        };
        // Whether a conditional write happened is unknown once an answer is lost: trying it again
        // would test its own effect.
        let tries = match condition {
            None if self.tries_again => shared.plan.attempts,
            _ => 1,
        };
        let ask = self.ask(place, quorum, verb);
        let ended = self.attempt_write(id, &ask, tries).await;
        let ended = match ended {
            Ok(stamp) => {
                if !matches!(wish, Wish::Delete) && !shared.plan.ends_at(place) {
                    self.last = Some((place, Condition::Is(stamp), Expect::Value(id)));
                }
                Ended::Acknowledged
            }
            Err(ended) => ended,
        };
        let at_ms = shared.time.elapsed_ms();
        shared.history.borrow_mut().end_write(id, at_ms, ended);
    }

    /// Writes some keys beside each other with one request.
    async fn bulk(&mut self, first: Place) {
        let shared = self.shared.clone();
        let ack = if self.random.random_bool(0.8) { 2 } else { 3 };
        let quorum = Quorum { ack, from: 3 };
        let end = (first.1 + self.random.random_range(1..=BULK_KEYS_MAX)).min(shared.plan.keys);
        let mut pairs = Pairs::default();
        let mut ids = Vec::new();
        for key in first.1..end {
            let begun_ms = shared.time.elapsed_ms();
            let put = Write::put((first.0, key), self.number, (ack, quorum.from), begun_ms);
            let id = shared.history.borrow_mut().begin_write(put);
            let bytes = self.random.random_range(8..=shared.plan.value_bytes_max);
            // The format has room for keys and values this short.
            let _ = pairs.push(&key_name(key), &value_of(id, bytes));
            ids.push(id);
        }
        let verb = Verb::Bulk(pairs.seal().body().clone());
        let tries = if self.tries_again {
            shared.plan.attempts
        } else {
            1
        };
        let ask = self.ask(first, quorum, verb);
        let (&last, others) = match ids.split_last() {
            Some(ids) => ids,
            None => return,
        };
        let ended = match self.attempt_write(last, &ask, tries).await {
            Ok(_) => Ended::Acknowledged,
            Err(ended) => ended,
        };
        let at_ms = shared.time.elapsed_ms();
        for id in others.iter().chain([&last]) {
            shared
                .history
                .borrow_mut()
                .end_write(*id, at_ms, ended.clone());
        }
    }

    /// How long the next value is to last, if not for ever.
    fn end(&mut self) -> Option<u64> {
        let lasts_ms = self.random.random_range(200..=2_000);
        self.random.random_bool(0.6).then_some(lasts_ms)
    }

    async fn attempt_write(&mut self, id: u64, ask: &Ask, tries: usize) -> Result<Stamp, Ended> {
        let shared = self.shared.clone();
        let plan: Vec<(usize, u64)> = (0..tries)
            .map(|attempt| (self.node(attempt), self.timeout_ms()))
            .collect();
        let mut attempts = Attempts::new(&self.nodes, &self.clock, self.tries_again);
        let mut why = String::from("no node could be asked");
        let mut sent = false;
        for (host, timeout_ms) in plan {
            let told = attempts.at(host, ask.clone(), timeout_ms).await;
            let at_ms = shared.time.elapsed_ms();
            let text = match told {
                Attempt::Answered(Told::Written(stamp)) => {
                    self.preferred = host;
                    shared
                        .history
                        .borrow_mut()
                        .attempt(id, at_ms, host, "done".into());
                    return Ok(stamp);
                }
                Attempt::Answered(Told::ConditionFailed) if !sent => {
                    return Err(Ended::Refused("its condition does not hold".into()));
                }
                Attempt::Answered(_) => "an answer to something else".into(),
                Attempt::NotSent => {
                    continue;
                }
                Attempt::GivenUp(text) => text,
            };
            sent = true;
            shared
                .history
                .borrow_mut()
                .attempt(id, at_ms, host, text.clone());
            why = text;
        }
        Err(Ended::Unknown(why))
    }

    async fn read(&mut self, place: Place) {
        let quorum = self.quorum(place);
        let begun = (self.now(), self.shared.time.elapsed_ms());
        let ask = self.ask(place, quorum, Verb::Get);
        let Some((host, Told::Found(found))) = self.attempt_read(ask).await else {
            return;
        };
        let seen = match found {
            _ if self.shared.plan.ends_at(place) => {
                found.map_or(Seen::Nothing, |(_, value)| Seen::Value(write_of(&value)))
            }
            None => {
                self.last = Some((place, Condition::Absent, Expect::Absent));
                Seen::Nothing
            }
            Some((stamp, value)) => {
                let id = write_of(&value);
                self.last = id.map(|id| (place, Condition::Is(stamp), Expect::Value(id)));
                Seen::Value(id)
            }
        };
        self.saw(place, quorum, host, begun, false, seen);
    }

    async fn scan(&mut self, place: Place) {
        let keyspace = place.0;
        let quorum = self.quorum(place);
        let begun = (self.now(), self.shared.time.elapsed_ms());
        let ask = self.ask(place, quorum, Verb::Scan);
        let Some((host, Told::All(found))) = self.attempt_read(ask).await else {
            return;
        };
        for key in 0..self.shared.plan.keys {
            let name = key_name(key);
            let seen = match found.iter().find(|(key, _)| *key == name) {
                Some((_, value)) => Seen::Value(write_of(value)),
                None => Seen::Nothing,
            };
            self.saw((keyspace, key), quorum, host, begun, true, seen);
        }
    }

    async fn attempt_read(&mut self, ask: Ask) -> Option<(usize, Told)> {
        let tries = self.shared.plan.attempts;
        for attempt in 0..tries {
            let (host, timeout_ms) = (self.node(attempt), self.timeout_ms());
            let mut attempts = Attempts::new(&self.nodes, &self.clock, false);
            if let Attempt::Answered(told) = attempts.at(host, ask.clone(), timeout_ms).await {
                return Some((host, told));
            }
        }
        None
    }

    fn now(&self) -> Moment {
        self.shared.history.borrow_mut().moment()
    }

    fn saw(
        &self,
        place: Place,
        quorum: Quorum,
        host: usize,
        (begun, begun_ms): (Moment, u64),
        scan: bool,
        seen: Seen,
    ) {
        let ended = self.now();
        let ended_ms = self.shared.time.elapsed_ms();
        self.shared.history.borrow_mut().read(Read {
            place,
            client: self.number,
            host,
            ack: quorum.ack,
            from: quorum.from,
            scan,
            last: false,
            begun,
            begun_ms,
            ended,
            ended_ms,
            seen,
        });
    }
}
