//! The store as those who use it see it: a file for each behaviour.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

#[path = "../common/mod.rs"]
mod common;

mod apply;
mod changes;
mod convergence;
mod count;
mod crash;
mod damage;
mod expiry;
mod forget;
mod ingest;
mod purge;
mod remove;
mod rewind;
mod rows;
mod scan;
mod sweep;
