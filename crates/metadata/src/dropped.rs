//! A keyspace that was dropped, and may still be taken back.
use crate::keyspace::Keyspace;
use serde::{Deserialize, Serialize};

/// The record of a drop. Data goes on the strength of this alone, never because something is
/// missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// The keyspace as it was.
    pub keyspace: Keyspace,
    /// When, in milliseconds since 1970, by the clock of the node that was asked: for people to
    /// read; nothing is decided by it.
    pub dropped_ms: u64,
    /// Whether its data goes. Never taken back.
    pub purged: bool,
}
