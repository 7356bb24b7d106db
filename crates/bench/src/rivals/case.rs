//! What is compared with what.

use serde::Serialize;

use crate::cluster::Sync;
use crate::options::Store;

/// Servers that run side by side: a store, and when it syncs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Setup {
    /// Which store.
    pub store: Store,
    /// Whether a write is on disk before it is acknowledged.
    pub sync: Sync,
    /// Whether replicas agree before they write, in the keyspace [`TRANSACTIONAL_KEYSPACE`].
    pub is_transactional: bool,
}

/// The keyspace of mode transactional.
pub const TRANSACTIONAL_KEYSPACE: &str = "transactional";

/// The same in two ranges: those of the first keys of transactions, and of the second ones.
pub const SPLIT_KEYSPACE: &str = "split";

/// All that run.
pub const SETUPS: [Setup; 7] = [
    setup(Store::Dunlin, Sync::Always),
    setup(Store::Etcd, Sync::Always),
    setup(Store::Nats, Sync::Always),
    setup(Store::Dunlin, Sync::Never),
    setup(Store::Nats, Sync::Never),
    setup(Store::Redis, Sync::Never),
    Setup {
        is_transactional: true,
        ..setup(Store::Dunlin, Sync::Always)
    },
];

const fn setup(store: Store, sync: Sync) -> Setup {
    Setup {
        store,
        sync,
        is_transactional: false,
    }
}

impl Setup {
    /// In words.
    pub fn name(&self) -> &'static str {
        match (self.store, self.sync) {
            (Store::Dunlin, _) if self.is_transactional => "Dunlin, 3 nodes, transactional",
            (Store::Dunlin, _) => "Dunlin, 3 nodes",
            (Store::Etcd, _) => "etcd, 3 members",
            (Store::Nats, _) => "NATS JetStream KV, 3 replicas",
            (Store::Redis, _) => "Redis, 1 replica",
        }
    }
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ask {
    /// Write a new key.
    Put,
    /// Read a key, as well as the store can: what was acknowledged before is seen.
    Get,
    /// Write a key that has no value yet, and only then.
    Swap,
    /// Write two keys that have no value yet, and only then, as one.
    Pair,
    /// The same where the keys are in two ranges.
    PairApart,
    /// Read a key that has a value, and write another, as one.
    ReadWrite,
    /// Read a key from one replica, which may not have what was acknowledged before.
    Any,
}

/// One line of a table, but for the number of connections.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Case {
    /// Of whom.
    pub setup: Setup,
    /// What.
    pub ask: Ask,
    /// What its answer means.
    pub means: &'static str,
}

/// All lines in their order; in each round they have their turns in it.
pub const CASES: [Case; 21] = [
    case(0, Ask::Put, "by 2 of 3, synced"),
    case(6, Ask::Put, "by a majority, synced, in one order"),
    case(1, Ask::Put, "by a majority, synced"),
    case(2, Ask::Put, "by a majority, synced (sync_interval: always)"),
    case(3, Ask::Put, "by 2 of 3, not synced (--sync never)"),
    case(
        4,
        Ask::Put,
        "by a majority, not synced (every 2 minutes, the default)",
    ),
    case(5, Ask::Put, "by the primary alone, not synced"),
    case(0, Ask::Get, "the newest of 2 of 3"),
    case(6, Ask::Get, "linearizable"),
    case(1, Ask::Get, "linearizable"),
    case(5, Ask::Get, "of the primary"),
    case(6, Ask::Swap, "If-None-Match: *, synced"),
    case(1, Ask::Swap, "transaction: created at 0, then put; synced"),
    case(6, Ask::Pair, "POST /v1/txn, both in one range, synced"),
    case(
        6,
        Ask::PairApart,
        "POST /v1/txn, in two ranges with two leaders, synced",
    ),
    case(1, Ask::Pair, "transaction, synced"),
    case(6, Ask::ReadWrite, "POST /v1/txn, both in one range, synced"),
    case(1, Ask::ReadWrite, "transaction, synced"),
    case(0, Ask::Any, "of one replica (ack=1)"),
    case(1, Ask::Any, "of one member (serializable)"),
    case(4, Ask::Any, "of one replica (direct get)"),
];

const fn case(setup: usize, ask: Ask, means: &'static str) -> Case {
    let setup = SETUPS[setup];
    Case { setup, ask, means }
}
