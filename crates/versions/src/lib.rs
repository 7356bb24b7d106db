//! Values of replicated ranges, each in all its versions, on RocksDB.
//!
//! | file | holds |
//! |---|---|
//! | `key` | pure: rows as bytes that compare (docs/formats.md, section 17) |
//! | `meta` | what a store knows of each range: the applied index, and the replica |
//! | `store` | the handle; opening, flushing |
//! | `apply` | entries of a range's log, in one batch with their position; what they do is in `dunlin_txn` |
//! | `state` | intents and records of transactions, into memory |
//! | `get` `page` | the newest version of a key, and of a range of keys |
//! | `load` | a range from another replica, beside the one there is until it is whole |
//! | `collect` | older versions go |
//!
//! RocksDB's own log is off: what a crash takes away is applied again from the range's log behind
//! [`Meta::applied`].
#![deny(unsafe_code)]

mod apply;
mod clear;
mod collect;
mod get;
mod key;
mod load;
mod meta;
mod page;
mod state;
mod store;
mod worn;

pub use apply::{Applied, Entries};
pub use get::{Found, Lookup, Reader, Tier, Versions};
pub use load::{Row, Rows};
pub use meta::Meta;
pub use page::{Page, PageBounds};
pub use store::{Store, StoreError};
