//! Late attempts at writes and wrong clocks: processes that are stopped with requests in their
//! sockets, and nodes whose clocks are far off.
// Tests stand outside the simulation: processes, sockets, files and time are real.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

#[path = "../harness/mod.rs"]
mod harness;

mod clock;
mod late;
mod mend;
