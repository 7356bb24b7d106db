//! Whole clusters of the real node code under a simulated network, disk and clock, replayable by seed.
//!
//! | module | what it is |
//! |---|---|
//! | `plan` | what a seed decides before anything runs |
//! | `harness` | the world: `transport`, `clock`, `chance`, `host` (one node with its disk), `pause`, `cluster`; `front` and `ask`, what nodes and clients say to one another |
//! | `clients` | clients on a machine of their own, with their own clocks: puts, deletes, conditions, reads, scans, tried again at another node |
//! | `faults` | partitions, crashes, power losses, held processes, bad clocks and disks, disks lost and put back, nodes that relapse, metadata stores without memory, members that change, step by step |
//! | `followers` | those who follow logs from their tokens on, at one replica after another: each must have been given all that a replica holds whose log it has read |
//! | `history` | what clients did and saw, in order: values and real time |
//! | `checks` | the promises: what is read was `written`, reads are `fresh`, nodes answer `equal`, replicas `converged`; `lost` says what faults may take |
//! | `counts` | proof that a run exercises what it is meant to |
//! | `proof` | that each deliberate bug is found |
//! | `run` `report` | one seed from beginning to verdict; a failing one for people |
//! | `jobs` | many seeds beside one another |
//! | `links` | several clusters that follow one another: `plan`, `scene`, `faults`, `history` with its check, `run` |
//!
//! Real in here: logs, stores (RocksDB, in a temporary directory), replication, quorums, the wire
//! format. Simulated: connections, the log's disk, wall clocks, timers, and the order of it all.
//! The judge goes by values and real time alone: it believes no stamp.
#![deny(unsafe_code)]

mod checks;
mod clients;
mod counts;
mod faults;
mod followers;
mod harness;
mod history;
mod jobs;
mod links;
mod plan;
mod proof;
mod report;
mod resumed;
mod run;
mod streams;
mod txns;

pub use checks::Checked;
pub use counts::Counts;
pub use dunlin_node::Sabotage;
pub use harness::cluster::HarnessError;
pub use jobs::run_all;
pub use links::run as run_linked;
pub use plan::Plan;
pub use proof::{Found, RANGES, SEEDS, find, tempts};
pub use run::{Verdict, run, run_twice};
