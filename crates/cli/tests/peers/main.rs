//! Nodes among one another: two with one name, one that comes back, one that panics; strangers.
// Tests stand outside the simulation: processes, sockets, files and time are real.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

#[path = "../harness/mod.rs"]
mod harness;

mod health;
mod panics;
mod patient;
mod rolling;
mod secret;
mod twins;
