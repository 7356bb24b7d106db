//! What takes long: full disks, and power lost again and again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

#[path = "../common/mod.rs"]
mod common;

mod full_disk;
mod power;
