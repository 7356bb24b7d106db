//! The same keys and values in each store's own protocol.

use crate::cluster::Cluster;
use crate::error::BenchError;
use crate::interrupt::Interrupt;
use crate::load::etcd::{EtcdRequest, EtcdWorkload};
use crate::load::generator::{self, LoadError, Plan};
use crate::load::http::{ANY_COPY, Head, HttpWorkload, THREE_COPIES, Verb};
use crate::load::key::{Choice, KeySet, Keys, Order};
use crate::load::nats::NatsWorkload;
use crate::load::outcome::Outcome;
use crate::load::redis::RedisWorkload;
use crate::load::txn::TxnWorkload;
use crate::load::value::Values;
use crate::measure::{Run, measure};
use crate::options::Store;

use super::case::{Ask, SPLIT_KEYSPACE, Setup, TRANSACTIONAL_KEYSPACE};

/// Numbers of keys that one run may write.
const RUN_KEYS: u64 = 1 << 32;

/// Makes loads; no key is written twice over the whole run.
#[derive(Debug)]
pub struct Loads {
    values: Values,
    runs: u64,
    filled: u64,
}

/// A load of one of the stores.
#[derive(Debug)]
pub enum Load {
    /// Dunlin.
    Http(HttpWorkload),
    /// Transactions of Dunlin.
    Txn(TxnWorkload),
    /// etcd.
    Etcd(EtcdWorkload),
    /// NATS.
    Nats(NatsWorkload),
    /// Redis.
    Redis(RedisWorkload),
}

impl Loads {
    /// Loads with values of so many bytes, that read any of the first `filled` keys.
    pub fn new(value_bytes: usize, filled: u64) -> Loads {
        Loads {
            values: Values::new(value_bytes),
            runs: 0,
            filled,
        }
    }

    /// The next to measure: new keys to write, or any of the filled ones to read.
    pub fn next(&mut self, setup: Setup, ask: Ask) -> Load {
        let next = self.runs * RUN_KEYS;
        match ask {
            Ask::Put | Ask::Swap | Ask::Pair | Ask::PairApart => {
                let end = next + RUN_KEYS;
                self.make(setup, ask, b'p', Choice::Each { next, end })
            }
            Ask::Get | Ask::Any | Ask::ReadWrite => {
                let (count, state) = (self.filled, self.runs);
                self.make(setup, ask, b'f', Choice::Any { count, state })
            }
        }
    }

    /// Each of the keys that are read later, once.
    pub fn fill(&mut self, setup: Setup, ask: Ask) -> Load {
        let end = self.filled;
        self.make(setup, ask, b'f', Choice::Each { next: 0, end })
    }

    fn make(&mut self, setup: Setup, ask: Ask, tag: u8, choice: Choice) -> Load {
        self.runs += 1;
        let order = Order::Random;
        let (set, values) = (KeySet { tag, order }, self.values.clone());
        let verb = match ask {
            Ask::Put | Ask::Swap | Ask::Pair | Ask::PairApart => Verb::Put,
            Ask::Get | Ask::Any | Ask::ReadWrite => Verb::Get,
        };
        let keys = || Keys::new(set, choice.clone());
        match (setup.store, ask) {
            (Store::Dunlin, Ask::Pair) => {
                Load::Txn(TxnWorkload::new(TRANSACTIONAL_KEYSPACE, keys(), values))
            }
            (Store::Dunlin, Ask::PairApart) => {
                Load::Txn(TxnWorkload::new(SPLIT_KEYSPACE, keys(), values))
            }
            (Store::Dunlin, Ask::ReadWrite) => {
                let load = TxnWorkload::new(TRANSACTIONAL_KEYSPACE, keys(), values);
                Load::Txn(load.of_reads())
            }
            (Store::Dunlin, _) if setup.is_transactional => {
                let head = Head::of_keyspace(
                    verb,
                    TRANSACTIONAL_KEYSPACE,
                    ask == Ask::Swap,
                    values.length(),
                );
                Load::Http(HttpWorkload::with_head(verb, head, set, choice, values))
            }
            (Store::Dunlin, _) => {
                let copies = match ask {
                    Ask::Any => ANY_COPY,
                    _ => THREE_COPIES,
                };
                Load::Http(HttpWorkload::new(verb, copies, set, choice, values))
            }
            (Store::Etcd, _) => {
                let request = match ask {
                    Ask::Put => EtcdRequest::Put,
                    Ask::Swap => EtcdRequest::PutIfAbsent,
                    Ask::Pair | Ask::PairApart => EtcdRequest::PutBothIfAbsent,
                    Ask::ReadWrite => EtcdRequest::GetAndPut,
                    Ask::Get => EtcdRequest::Linearizable,
                    Ask::Any => EtcdRequest::Serializable,
                };
                Load::Etcd(EtcdWorkload::new(request, keys(), values))
            }
            (Store::Nats, _) => Load::Nats(NatsWorkload::new(verb, keys(), values, self.runs)),
            (Store::Redis, _) => Load::Redis(RedisWorkload::new(verb, keys(), values)),
        }
    }
}

impl Load {
    /// Carries it out and measures it.
    ///
    /// # Errors
    /// As [`measure`].
    pub fn measure(
        &mut self,
        cluster: &mut Cluster,
        plan: &Plan,
        interrupt: &Interrupt,
    ) -> Result<Run, BenchError> {
        match self {
            Load::Http(load) => measure(cluster, plan, load, interrupt),
            Load::Txn(load) => measure(cluster, plan, load, interrupt),
            Load::Etcd(load) => measure(cluster, plan, load, interrupt),
            Load::Nats(load) => measure(cluster, plan, load, interrupt),
            Load::Redis(load) => measure(cluster, plan, load, interrupt),
        }
    }

    /// Carries it out.
    ///
    /// # Errors
    /// As [`generator::run`].
    pub fn run(&mut self, plan: &Plan, interrupt: &Interrupt) -> Result<Outcome, LoadError> {
        let at_edge = &mut |_| {};
        match self {
            Load::Http(load) => generator::run(plan, load, interrupt, at_edge),
            Load::Txn(load) => generator::run(plan, load, interrupt, at_edge),
            Load::Etcd(load) => generator::run(plan, load, interrupt, at_edge),
            Load::Nats(load) => generator::run(plan, load, interrupt, at_edge),
            Load::Redis(load) => generator::run(plan, load, interrupt, at_edge),
        }
    }
}
