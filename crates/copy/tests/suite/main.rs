//! Copies between directories and over TCP.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

#[path = "../support/mod.rs"]
mod support;

mod lost;
mod modes;
mod resume;
