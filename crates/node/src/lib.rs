//! A Dunlin node: shards, replication, quorums, and the HTTP that serves them.
//!
//! The path of a write, file by file: `api/keys.rs` takes it from a socket,
//! `quorum/write.rs` finds the replica it enters through, `shard/own.rs` stamps
//! and logs it there, `replication/send.rs` carries it to the other replicas.
//!
//! | module | what it is |
//! |---|---|
//! | `config` `env` `clock` `machine` `limits` | what a node is told, what it takes from outside, every bound |
//! | `fence` | whether a clock may decide anything (pure) |
//! | `placement` | key -> partition -> ordered replicas (pure) |
//! | `shard` | the event loop's state: log, store, and the way from one to the other |
//! | `follow` | what all who follow a log need: pins, and what is kept of it |
//! | `replication` | cursors that carry entries to replicas; catching up; backfill |
//! | `moves` | partitions given from node to node while the members change |
//! | `expiry` | values whose time is over are ended by a delete |
//! | `quorum` | coordinating reads, writes and scans; the decisions in `decide.rs` are pure |
//! | `plug` `http` | what plugs into a node as a crate of its own; what that needs to answer over HTTP |
//! | `services` `serve` | a shard with its capabilities, those above; what other shards ask of them |
//! | `api` | HTTP |
//! | `sabotage` | deliberate bugs, for the simulation to find |
//! | `hearsay` | which keyspaces are dropped, also by what others say (pure) |
//! | `incarnation` | who counts of two processes with one name (pure) |
//! | `ready` | whether clients may be sent here (pure) |
//! | `rate` | bytes a second over the last seconds |
//! | `doors` | how many connections and how much memory clients may have |
//! | `logins` | passwords checked off the event loops, few at a time |
//! | `process` `node` | what nodes of a process share; starting and stopping one |
#![deny(unsafe_code)]

mod api;
mod clock;
mod config;
mod doors;
mod env;
mod expiry;
mod fence;
mod follow;
mod hearsay;
pub mod http;
mod incarnation;
mod limits;
mod linked;
mod logins;
mod machine;
mod meters;
mod moves;
mod node;
mod placement;
pub mod plug;
mod process;
mod quorum;
mod rate;
mod ready;
mod replication;
mod sabotage;
mod serve;
mod serve_pages;
mod services;
mod shard;
mod starts;

pub use clock::{Clock, SystemClock};
pub use config::{CopySteps, NodeConfig};
pub use doors::{Bounds, REFUSALS_MAX};
pub use env::Env;
pub use follow::{
    Begun, Follow, FollowError, Followers, From, Next, Pinned, Scope, Wanted, is_news_entry,
};
pub use limits::BODY_BYTES_MAX;
pub use linked::LinkedKeyspace;
pub use logins::{check_password, password_hash};
pub use machine::{Machine, RealMachine};
pub use moves::MoveState;
pub use node::{Node, StartError, StopError, cluster_of, fresh_cluster, shards_of};
pub use placement::{KeyspacePlacement, Placement};
pub use process::{Directory, Process, Superseded};
pub use quorum::{AlreadyThere, Coordinator, Failure, Quorum, Scan};
pub use rate::Rate;
pub use ready::Lack;
pub use sabotage::Sabotage;
pub use serve::ShardService;
pub use services::Services;
pub use shard::{
    Happened, OpenError, REFILL_FILE, REFILL_REPAIRED, Shard, ShardParts, ShardStatus,
};
pub use starts::Starts;
