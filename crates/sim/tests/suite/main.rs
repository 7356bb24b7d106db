//! Simulated clusters: what a bounded number of seeds must show.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

mod followers;
mod links;
mod replay;
mod seeds;
