//! `dunlin` as those who use it see it: real processes, sockets and files.
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
mod copy;
mod copy_secret;
mod http;
mod import;
mod key_value;
mod link_verify;
mod links;
mod local_cluster;
mod log;
mod log_compressed;
mod log_inspect;
mod log_settings;
mod range_recover;
mod range_targets;
mod ranges;
mod readme;
mod shards;
mod streams;
mod suite_ranges;
mod tls;
mod tpcc;
mod txn;
mod txn_add;
mod txn_direct;
mod txn_leaders;
mod txn_locks;
mod txn_outcomes;
mod users;
mod view_queries;
mod views;
mod wrong_use;
