//! dunlin-store: versioned values on RocksDB, and the entry that carries a change.
//!
//! | file | holds |
//! |---|---|
//! | `version` `origin` `stamp` | when and where a change was made; their order decides conflicts |
//! | `entry` `entry_view` | the payload of a log record: encode, decode, peek |
//! | `vector` | origin -> last version seen: the resume token |
#![deny(unsafe_code)]

mod entry;
mod entry_view;
mod error;
mod origin;
mod stamp;
mod vector;
mod version;

pub use entry::{Entry, Kind};
pub use entry_view::EntryView;
pub use error::DecodeError;
pub use origin::Origin;
pub use stamp::{ParseStampError, Stamp};
pub use vector::Vector;
pub use version::Version;
