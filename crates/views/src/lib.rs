//! Views: an index that a map function makes of a keyspace's records (decision 53).
//!
//! An index is kept by each shard of what it holds itself, by a subscription to its changes, and the token that
//! it reflects stands in the same batch as the rows. A query takes one replica of each partition.
//!
//! | file | duty |
//! |---|---|
//! | `plug` | what plugs into the node: paths, requests of other shards, an index for each view |
//! | `http` | the paths |
//! | `collate` | pure: keys of rows as bytes that compare as they do |
//! | `engine` | JavaScript with bounds; `prelude.js` is what functions see of the world |
//! | `engines` | where it runs: in a `process` of its own, where `worker` answers each `message` |
//! | `map` `fold` | map functions; reduce functions of a user |
//! | `reduce` | pure: how rows are reduced, and to what; `sum`, a sum that forgets nothing; `total` of arrays and objects; `stats` |
//! | `row` | pure: keys and values of an index's database; `hash` (pure), a hash of bytes |
//! | `index` | that database: changes in, rows out, what is not held any more removed |
//! | `build` | what keeps an index: the subscription, what is flushed, what of the log is still needed |
//! | `view` | what all at a shard know of a view; how it is doing; `status`, the same of all shards |
//! | `query` | what a client asks; `wanted`, what an index is asked; `page`, what it gives: as values and as bytes |
//! | `scan` | an index as it was at one moment, a page at a time; `blocks`, sums of stretches of it, in memory |
//! | `serve` | what one shard gives to a query; `readers`, those of other shards that are under way here |
//! | `gather` | all shards of a query, as one; `body`, that as the body of an answer |
//! | `whole` | all rows at a shard, for simulations |
//! | `verify` | an index compared with one that is made anew; `replicas` (pure), those of all shards with each other |
#![deny(unsafe_code)]

mod blocks;
mod body;
mod build;
mod collate;
mod engine;
mod engines;
mod fold;
mod gather;
mod hash;
mod http;
mod index;
mod map;
mod message;
mod page;
mod plug;
mod process;
mod query;
mod readers;
mod reduce;
mod replicas;
mod row;
mod scan;
mod serve;
mod stats;
mod status;
mod sum;
mod total;
mod verify;
mod view;
mod wanted;
mod whole;
mod worker;

pub use engines::Engines;
pub use plug::Views;
pub use whole::{Row, rows_here};
pub use worker::{ENGINE, work};
