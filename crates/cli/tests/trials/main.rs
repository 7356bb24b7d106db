//! What takes a quiet machine, minutes of load or many processes: `make trials`, one test at a time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

#[path = "../copy_support/mod.rs"]
mod copy_support;
#[path = "../harness/mod.rs"]
mod harness;
#[path = "../log_data/mod.rs"]
mod log_data;
#[path = "../support/mod.rs"]
mod support;

mod changes;
mod cluster;
mod copy_damage;
mod copy_keyspace;
mod copy_keyspace_kill;
mod copy_kill;
mod copy_memory;
mod damage;
mod demo;
mod histories;
mod http;
mod links;
mod moves;
mod peers;
mod range_clocks;
mod range_faults;
mod range_recover;
mod range_targets;
mod ranges;
mod slow_flush;
mod space;
mod time;
mod tls;
mod txn;
mod txn_direct;
mod users;
