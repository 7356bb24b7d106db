//! Nodes come and go on a real etcd while clients read and write: added, drained, replaced, killed.
// Tests stand outside the simulation: processes, sockets, files and time are real.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

#[path = "../harness/mod.rs"]
mod harness;
#[path = "../support/mod.rs"]
mod support;

mod copies;
mod growth;
mod kills;
mod local;
mod operator;
mod outage;
mod refusal;
mod replace;
mod retention;
mod wider;
