//! What a cluster agrees on: its nodes, their incarnations, and its keyspaces.
//!
//! | file | what it holds |
//! |---|---|
//! | `node` | a node's record, and the rules for names |
//! | `keyspace` | a keyspace and its settings, and their limits |
//! | `members` | which nodes hold data, and what becomes of that: decisions without I/O |
//! | `sync` | the sync policy and its text form |
//! | `topology` | all of it at one revision |
//! | `metadata` | [`Metadata`], the handle, whichever store is behind it |
//! | `local` | one process: in memory, or one file |
//! | `document` | the decisions of the local store, without I/O |
//! | `file` | a file replaced by rename, and its lock |
//! | `etcd/` | a cluster of processes: `address`, `record` (keys and values), `change` and `members` (compare-and-swap), `watch` |
//! | `error` | why something was not done |
//!
//! Bytes: `docs/formats.md` section 6.
#![deny(unsafe_code)]

mod document;
mod error;
mod etcd;
mod file;
mod keyspace;
mod local;
mod members;
mod metadata;
mod node;
mod sync;
mod topology;

pub use error::MetadataError;
pub use keyspace::{Keyspace, KeyspaceSettings, Mode};
pub use members::{Change, Members, Phase};
pub use metadata::Metadata;
pub use node::{NAME_BYTES_MAX, NodeRecord, SHARDS_MAX, check_name};
pub use sync::{Sync, SyncParseError};
pub use topology::Topology;
