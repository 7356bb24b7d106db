//! Errors, by what the caller should do about them.

use crate::Index;
use std::{fmt, io, path::PathBuf, sync::Arc};

/// Why a log stopped for good: a write or a sync failed, so what is on disk is no longer known.
/// Reopening recovers what is really there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure(Arc<str>);

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Failure(Arc::from(message.into()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

/// What a log waits for. It goes on by itself once there is some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// Room on its disk, for another segment.
    Space,
    /// File descriptors, of the process or of the system.
    Files,
}

/// Why `append` or `rotate` did not accept a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// The log is poisoned; open it again.
    #[error("the log has stopped: {0}")]
    Failed(Failure),
    /// The disk has no room for another segment; try again when `Progress::lack` is gone.
    #[error("no space left for the log")]
    NoSpace,
    /// No file can be opened for another segment; the same.
    #[error("no file descriptors left for the log")]
    NoFiles,
    /// Too much is waiting to be written; try again when `Progress::written` has advanced.
    #[error("too many bytes are waiting to be written to the log")]
    Backlog,
    /// The log has no segment yet; call `rotate` with a preamble first.
    #[error("the log is empty: rotate must give its first preamble before anything is appended")]
    NoSegment,
    /// The log has been closed.
    #[error("the log is closed")]
    Closed,
}

impl From<Lack> for AppendError {
    fn from(lack: Lack) -> AppendError {
        match lack {
            Lack::Space => AppendError::NoSpace,
            Lack::Files => AppendError::NoFiles,
        }
    }
}

/// Why a log could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Correct the setting the message names.
    #[error("wrong log settings: {0}")]
    Options(String),
    /// The operating system refused; the message says which file.
    #[error("{path}: {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Bytes that had been synced are invalid. Take the records from a replica, or decide with
    /// `check` and `repair`.
    #[error(
        "{file}: damaged at offset {offset}, in bytes that had been synced ({proof}); see `dunlin log check`"
    )]
    Damaged {
        /// The segment's file name.
        file: String,
        /// Where the invalid bytes begin.
        offset: u64,
        /// How it is known that they had been synced.
        proof: String,
    },
    /// A segment between others is not there. Take it from a backup or a replica.
    #[error("{0}: this segment is missing between others")]
    Missing(String),
    /// The segment was written by another version of the format, or is misnamed.
    #[error("{file}: not a segment this version can read: {reason}")]
    Format {
        /// The segment's file name.
        file: String,
        /// What does not fit.
        reason: String,
    },
    /// The I/O thread is gone; start again.
    #[error(transparent)]
    Gone(#[from] crate::runner::Gone),
}

impl OpenError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> OpenError {
        // Only now: it is asked for with every record read.
        move |source| OpenError::Io {
            path: path.into(),
            source,
        }
    }
}

/// Why a cursor could not go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// The records asked for are released; seek to `first` or take a snapshot before.
    #[error("the records are gone; the log begins at {first}")]
    TooOld {
        /// The first index still in the log.
        first: Index,
    },
    /// The bytes on disk are invalid; take the records from a replica.
    #[error("{file}: damaged at offset {offset}")]
    Damaged {
        /// The segment's file name.
        file: String,
        /// Where the invalid bytes begin.
        offset: u64,
    },
    /// Reading failed or the log has stopped.
    #[error("the log cannot be read: {0}")]
    Failed(Failure),
}
