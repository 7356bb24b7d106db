//! Transactional keyspaces: ranges of keys that are replicated by consensus, so that each key is a register.
//! Plugs into the node.
//!
//! | file | what it does |
//! |---|---|
//! | `plug` | what plugs into the node: requests of other shards, status |
//! | `keep` | at each shard: makes replicas, starts them, lets them go, flushes, releases |
//! | `ranges` | the replicas at a shard, with the log and the store that they share |
//! | `start` | pure: whether a replica may speak, by what its record, its store and its log say |
//! | `group` | one replica: its raft node, and who waits for it |
//! | `drive` | the one task that takes all of them on: messages, proposals, reads, ticks |
//! | `ready` | what raft hands out: to the log, to the store, to who waits |
//! | `reads` | pure: who may read once which round has ended |
//! | `send` | messages to other replicas, those of all groups together |
//! | `snapshot` | a whole range to a replica that is too far behind |
//! | `serve` | a request at the leader |
//! | `client` | the same from any node: who leads, and what may be tried again |
//! | `wire` | requests and answers as bytes |
#![deny(unsafe_code)]

mod client;
mod drive;
mod group;
mod keep;
mod plug;
mod ranges;
mod reads;
mod ready;
mod send;
mod serve;
mod snapshot;
mod start;
mod status;
mod wire;

pub use plug::Ranges;
