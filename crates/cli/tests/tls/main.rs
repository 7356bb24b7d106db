//! TLS as clients, operators and strangers meet it.
// Tests stand outside the simulation: processes, sockets, files and time are real.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

#[path = "../harness/mod.rs"]
mod harness;

mod clients;
mod etcd;
mod files;
mod node;
mod reload;
mod secrets;
mod serving;
