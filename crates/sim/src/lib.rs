//! Whole clusters of the real node code under a simulated network, disk and clock, replayable by seed.
//!
//! | module | what it is |
//! |---|---|
//! | `plan` | what a seed decides before anything runs |
//! | `harness` | the world: `transport`, `clock`, `host` (one node with its disk), `cluster` |
//! | `workload` | clients beside each node: puts, deletes, conditions, reads, scans |
//! | `faults` | partitions, crashes, power losses, bad clocks and disks, step by step |
//! | `history` | what clients did and saw, in order |
//! | `checks` | the promises: `fresh` reads, `order` of writes, `converged` replicas |
//! | `counts` | proof that a run exercises what it is meant to |
//! | `run` `report` | one seed from beginning to verdict; a failing one for people |
//!
//! Real in here: logs, stores (RocksDB, in a temporary directory), replication, quorums, the wire
//! format. Simulated: connections, the log's disk, wall clocks, timers, and the order of it all.
#![deny(unsafe_code)]

mod checks;
mod counts;
mod faults;
mod harness;
mod history;
mod plan;
mod report;
mod run;
mod workload;

pub use counts::Counts;
pub use dunlin_node::Sabotage;
pub use harness::cluster::HarnessError;
pub use plan::Plan;
pub use run::{Verdict, run};
