//! The log of raft groups: many groups in one [`dunlin_log::Log`], so that they share its group commit.
//!
//! | file | holds |
//! |---|---|
//! | `record` | pure: what stands in a record, as bytes (docs/formats.md, section 17) |
//! | `group` | pure: one group's hard state and entries in memory, and what a record makes of them |
//! | `open` | recovery: every record of the log, in its order |
//! | `log` | the handle: records in, progress out |
//! | `release` | which segments may go |
//! | `storage` | a group as the `raft` crate reads it |
//!
//! Entries that the store may have lost in a crash stand in the log; from the disk they are read at recovery
//! only. In memory there is more: a tail for followers that lag.
#![deny(unsafe_code)]

mod group;
mod log;
mod open;
mod record;
mod release;
mod storage;

pub use group::{GroupLog, Position, TAIL_BYTES};
pub use log::RaftLog;
pub use open::OpenError;
pub use record::{Malformed, Record, Vote};
pub use release::ReleaseError;
pub use storage::GroupStorage;
