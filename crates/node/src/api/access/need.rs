//! What a request needs its asker to have.

use dunlin_metadata::Role;

/// Of whoever asks; only in a cluster that has users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing: anybody may, and is not asked.
    Nothing,
    /// Nothing, but readers of all are told more.
    Told,
    /// To be a user.
    User,
    /// A role on the keyspace that the path names, or on all.
    Keyspace(Role),
    /// A role on all.
    Everything(Role),
}
