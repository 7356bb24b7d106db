//! Transactions over ranges in memory, with messages that are late, lost or come twice, leaders that are lost and
//! clients that die: thousands of runs, whose histories are judged by values and real time alone.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods
)]

mod bugs;
mod client;
mod later;
mod lists;
mod model;
mod range;
mod run;
mod sums;
mod update;
