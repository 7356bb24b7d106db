//! The log as those who use it see it: a file for each behaviour.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

#[path = "../common/mod.rs"]
mod common;

mod behind;
mod check;
mod commit;
mod compression;
mod crash;
mod cursor;
mod real;
mod release;
mod rocksdb;
mod roundtrip;
mod settings;
mod space;
mod torture;
mod torture_wal;
