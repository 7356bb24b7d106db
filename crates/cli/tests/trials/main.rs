//! Real processes that are stopped, killed, cut off, and robbed of what they did not sync, under
//! clients whose histories must be linearizable.
// Tests stand outside the simulation: processes, sockets, files and time are real.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

#[path = "../harness/mod.rs"]
mod harness;

mod clients;
mod crash;
mod dropped;
mod etcd;
mod forgetful;
mod fuse;
mod mixed;
mod pause;
mod power;
mod protocol;
