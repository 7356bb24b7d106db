//! dunlin-entry: one change, as value and as bytes: when and where it was made, which of two wins,
//! and how far who has seen whose. Shards log these bytes, send them on as they are, and store what
//! is in them; so this crate knows no log, no network and no store.
//!
//! | file | holds |
//! |---|---|
//! | `version` `origin` `stamp` | when and where a change was made; their order decides conflicts |
//! | `rank` | who wins where a stamp far ahead is replaced; what a write needs to win |
//! | `position` | where in whose log a change stands |
//! | `entry` `entry_view` | the payload of a log record: encode, decode, peek |
//! | `vector` | origin -> last version seen: the resume token |
//! | `error` | what can be wrong with bytes |
#![deny(unsafe_code)]

mod entry;
mod entry_view;
mod error;
mod origin;
mod position;
mod rank;
mod stamp;
mod vector;
mod version;

pub use entry::{Entry, Kind};
pub use entry_view::EntryView;
pub use error::DecodeError;
pub use origin::{Origin, cluster_number};
pub use position::Position;
pub use rank::{Above, Rank, Replaces};
pub use stamp::{ParseStampError, Stamp};
pub use vector::Vector;
pub use version::Version;
