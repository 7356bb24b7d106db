//! Users and rights, with real nodes, a real etcd, curl and the command line.
// Tests stand outside the simulation: processes, sockets, files and time are real.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

#[path = "../harness/mod.rs"]
mod harness;

mod asking;
mod command;
mod flood;
mod lasting;
mod rights;
mod secrets;
