//! dunlin-store: versioned values on RocksDB.
//!
//! | file | holds |
//! |---|---|
//! | `key` `record` | a RocksDB key and value: encode, decode |
//! | `conflict` `stripes` | pure: who wins, and when a put needs no read to win |
//! | `purge` | pure: when a tombstone may be forgotten |
//! | `expiry` | what has an expiry, by time |
//! | `rows` | records read lately |
//! | `shared` `options` `tuning` | what a process shares, what a store is told, what RocksDB is told |
//! | `store` `open` `files` | the handle; opening, and refusing what is not whole |
//! | `apply` `get` `remove` | one write batch with the applied position; one read; dropping ranges |
//! | `changes` | which keyspaces were written to since a view was frozen |
//! | `keyspaces` | which keyspaces it holds anything of, and how much |
//! | `ingest` `sweep` `forget` | many records as a file; dropping what is no longer held here, or was deleted everywhere |
//! | `snapshot` `scan` `merge` | a frozen view; pages of one partition; pages over all partitions |
//! | `flush` `compact` | from memory to SST files when the caller says so; forgetting the dead |
//! | `digest` `verify` `stats` `count` | comparing replicas; finding damage; numbers; keys while they are few |
//!
//! RocksDB's own log is off: the shard's log is the truth and this store its materialised state.
//! Whatever a crash takes away is replayed from the log behind [`Store::applied`].
#![deny(unsafe_code)]

mod apply;
mod changes;
mod compact;
mod conflict;
mod count;
mod digest;
mod error;
mod expiry;
mod files;
mod flush;
mod forget;
mod get;
mod ingest;
mod key;
mod keyspaces;
mod merge;
mod open;
mod options;
mod purge;
mod record;
mod remove;
mod rows;
mod scan;
mod shared;
mod snapshot;
mod spare;
mod stats;
mod store;
mod stripes;
mod sweep;
mod tuning;
mod verify;

pub use apply::Outcome;
pub use count::Counted;
pub use digest::Digest;
pub use error::StoreError;
pub use expiry::{Expired, ExpiredPage};
pub use get::{Lookup, Tier};
pub use ingest::Ingestible;
pub use merge::Merge;
pub use options::{Clock, Grace, StoreOptions};
pub use record::{Record, Versioned};
pub use rows::{Noted, Rows};
pub use scan::{Page, Wanted};
pub use shared::{CacheSizes, OPEN_FILES, SharedResources};
pub use snapshot::Snapshot;
pub use stats::Stats;
pub use store::Store;
pub use sweep::Thinned;
