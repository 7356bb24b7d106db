//! HTTP as clients see it: every status of `/v0` and `/v1`, and whatever else a socket can bring.
// Tests stand outside the simulation: processes, sockets, files and time are real.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

#[path = "../harness/mod.rs"]
mod harness;

mod conditional;
mod cors;
mod entity;
mod expiry;
mod framing;
mod keyspace;
mod large_range;
mod limits;
mod load;
mod long_key;
mod malformed;
mod metrics;
mod pairs;
mod range;
mod refused;
mod retention;
mod state;
