//! Each benchmark whole, small: structure, counting and what is written. Not times.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

mod copy;
mod generator;
mod moves;
mod quorum;
mod rivals;
mod shards;
mod wal;
