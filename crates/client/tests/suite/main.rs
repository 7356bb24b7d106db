//! The client against servers that answer as told: a file for each behaviour.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

#[path = "../support/mod.rs"]
mod support;

mod cluster;
mod failover;
mod keyspace;
mod pair_scan;
mod scan;
