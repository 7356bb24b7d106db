//! Measurements of Dunlin that reproduce the tables of the papers in `seeds/`.
//!
//! - [`options`]: the command line
//! - [`quorum`]: paper 004, step by step: idle memory, fill, sweep, full runs, group commit
//! - [`wal`]: paper 002: block size and padding of the log, causes, RocksDB, the disk
//! - [`copy`]: paper 000: copying a database, beside rsync, cp, the disk and the loopback
//! - [`moves`]: what clients feel while a node joins and a node is drained
//! - [`shards`]: one node with one shard and with several
//! - [`ranges`]: copies of ranges, and changes of their leaders
//! - [`contention`]: transactions of many clients on one key; [`ladder`]: of one client, step by step
//! - [`replication`]: paper 001: two nodes under constant rates, stream clients beside
//! - [`views`]: how fast a view is built and answers, and how far it is behind; SQLite beside
//! - [`transport`], [`rpc`]: paper 003: messages and calls between two threads, beside sockets alone, iperf3 and gRPC
//! - [`tpcc`]: paper 003: a workload derived from TPC-C, beside PostgreSQL
//! - [`rivals`]: the same requests to Dunlin, etcd, NATS JetStream and Redis, in turns
//! - [`sweep`]: how the highest rate is searched for, decisions only
//! - [`measure`]: one load run with the CPU it cost; [`spread`], [`interval`]: medians, means of several
//! - [`load`]: the generator: intended start times, connections, protocols, latencies
//! - [`cluster`]: servers as child processes, ours and the rivals'
//! - [`host`]: the machine: CPU, memory, disk, description
//! - [`report`]: Markdown, JSON and SVG; [`png`]: a chart as PNG
//! - [`interrupt`], [`progress`], [`program`], [`child`], [`error`]: stopping, saying, finding, running, failing
// A load generator is the outside world: real time, real sockets, real files.
#![allow(clippy::disallowed_methods)]

pub mod child;
pub mod cluster;
pub mod contention;
pub mod copy;
pub mod error;
pub mod host;
pub mod interrupt;
pub mod interval;
pub mod ladder;
pub mod load;
pub mod measure;
pub mod moves;
pub mod options;
pub mod png;
pub mod program;
pub mod progress;
pub mod quorum;
pub mod ranges;
pub mod replication;
pub mod report;
pub mod rivals;
pub mod rpc;
pub mod shards;
pub mod spread;
pub mod sweep;
pub mod tpcc;
pub mod transport;
pub mod views;
pub mod wal;
