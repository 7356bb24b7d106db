//! Calls, streams and connections: a file for each behaviour.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

#[path = "../common/mod.rs"]
mod common;

mod breaks;
mod calls;
mod given_up;
mod notices;
mod openings;
mod queue;
mod room;
mod secrets;
mod streams;
