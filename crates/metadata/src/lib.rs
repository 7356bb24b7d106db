//! What a cluster agrees on: its nodes, their incarnations, and its keyspaces.
//!
//! | file | what it holds |
//! |---|---|
//! | `node` | a node's record, and the rules for names |
//! | `keyspace` `dropped` | a keyspace and its settings, and their limits; one that was dropped |
//! | `cluster` | which cluster a store and a data directory are of |
//! | `access` `access_change` | users and their roles; what a change of them writes |
//! | `members` | which nodes hold data, and what becomes of that: decisions without I/O |
//! | `sync` | the sync policy and its text form |
//! | `topology` | all of it at one revision |
//! | `objects` | the same as it stands in a store: keys and JSON texts |
//! | `accept` | pure: whether a store is believed, and what becomes of what it says beside what is known |
//! | `change` | pure: what a change writes, the same for every store |
//! | `range` | the ranges of a transactional keyspace, and who holds them |
//! | `range_plan` | where their replicas should be |
//! | `retarget` | where an operator wants them |
//! | `recovery` | a range begins again with one replica |
//! | `restore` | pure: a lost store put back from what nodes know |
//! | `link_record` | a keyspace's links, and what a change of them makes of its record |
//! | `view_record` | a keyspace's views, and what a change of them makes of its record |
//! | `view` | what this process knows, and what is wrong, for all to watch |
//! | `watcher` | a value that many watch, woken in their order |
//! | `metadata` | [`Metadata`], the handle, whichever store is behind it |
//! | `local` | one process: in memory, or one file |
//! | `file` | a file replaced by rename, and its lock |
//! | `etcd/` | a cluster of processes: `address`, `access`, `contents`, `change` (compare-and-swap), `watch`, `cache` |
//! | `sim` | a store that is cut off, late, put back or wiped, for simulations |
//! | `error` | why something was not done |
//!
//! Bytes: `docs/formats.md` section 6.
#![deny(unsafe_code)]

mod accept;
mod access;
mod access_change;
mod change;
mod cluster;
mod dropped;
mod error;
mod etcd;
mod file;
mod keyspace;
mod link_record;
mod local;
mod members;
mod metadata;
mod node;
mod objects;
mod range;
mod range_plan;
mod recovery;
mod restore;
mod retarget;
mod retention;
pub mod sim;
mod sync;
mod topology;
mod view;
mod view_record;
mod watcher;

pub use accept::Refusal;
pub use access::{ALL, Access, Hash, ROLES_MAX, Role, TOKENS_MAX, USERS_MAX, User};
pub use access_change::{AccessChange, By, Tokens};
pub use cluster::{Cluster, Directory};
pub use dropped::Dropped;
pub use error::MetadataError;
pub use etcd::restore::restore;
pub use etcd::{EtcdPlace, EtcdUser};
pub use keyspace::{Keyspace, KeyspaceSettings, Mode, PARTITIONS_MAX, REPLICAS_MAX};
pub use link_record::{LINKS_MAX, LinkChange, LinkRecord, LinkSettings};
pub use members::{Change, Members, Phase, is_gone};
pub use metadata::Metadata;
pub use node::{NAME_BYTES_MAX, NodeRecord, SHARDS_MAX, SHARDS_OF_NODE_MAX, check_name};
pub use range::{ORACLE_KEYSPACE, RangePlace, RangeRecord, RangeReplica, RangeReplicas, Recovery};
pub use range_plan::{new_ranges, plan_places, ranges_outside};
pub use recovery::Recover;
pub use restore::{Report, RestoreError};
pub use retarget::Retarget;
pub use retention::Retention;
pub use sync::{Sync, SyncParseError};
pub use topology::{Counters, Topology};
pub use view_record::{IndexBefore, VIEW_SOURCE_BYTES_MAX, VIEWS_MAX, ViewChange, ViewRecord};
pub use watcher::{Shown, Watcher};
