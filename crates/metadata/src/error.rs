//! Why something was not done, and so what to do.
use std::io;
use std::path::PathBuf;

/// Why a change or an opening failed.
#[derive(Debug, thiserror::Error)]
pub enum MetadataError {
    /// A keyspace of this name exists. Describe it, or drop it first.
    #[error("keyspace {name} exists")]
    Exists {
        /// The keyspace's name.
        name: String,
    },
    /// No keyspace has this name.
    #[error("keyspace {name} does not exist")]
    NotFound {
        /// The name that was asked for.
        name: String,
    },
    /// What was asked for breaks a rule. Change the request.
    #[error("{what}: {rule}")]
    Invalid {
        /// The part at fault, with its value.
        what: String,
        /// The rule that it breaks.
        rule: String,
    },
    /// All numbers of a kind have been given out; they are never used twice.
    #[error("no {what} is left to give out")]
    Exhausted {
        /// What the numbers are for.
        what: &'static str,
    },
    /// The metadata store did not answer. Nothing is known about whether a change was made; try
    /// again later. Reads of the last topology go on.
    #[error("metadata store {endpoint} is unavailable: {detail}")]
    Unavailable {
        /// Where the store was looked for.
        endpoint: String,
        /// What went wrong.
        detail: String,
    },
    /// Another process has the file open. Only one may.
    #[error("{path} is in use by another process")]
    Locked {
        /// The metadata file.
        path: PathBuf,
    },
    /// The stored metadata cannot be understood. Restore it from a copy; it is not overwritten.
    #[error("metadata in {place} is damaged: {detail}")]
    Damaged {
        /// The file or the etcd key.
        place: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The file could not be read or written. The change was not made.
    #[error("metadata file {path}: {source}")]
    Storage {
        /// The metadata file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl MetadataError {
    pub(crate) fn invalid(what: impl Into<String>, rule: impl Into<String>) -> Self {
        Self::Invalid {
            what: what.into(),
            rule: rule.into(),
        }
    }
}
