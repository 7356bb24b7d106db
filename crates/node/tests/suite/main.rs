//! Nodes in one process, with real files and sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

#[path = "../common/mod.rs"]
mod common;

mod refill;
mod three_nodes;
mod twins;
