//! Clusters of processes on a real etcd: killed, cut off, emptied, left behind.
// Tests stand outside the simulation: processes, sockets, files and time are real.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

#[path = "../harness/mod.rs"]
mod harness;

mod backfill;
mod crash;
mod cut;
mod lost;
mod metadata;
mod past;
mod quorum;
mod range;
