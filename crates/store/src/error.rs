//! What can go wrong, by what the caller should do about it.

use std::path::{Path, PathBuf};

/// Why the store did not do as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Bytes on disk are not what was written. Stop serving this store and rebuild it from a
    /// replica; what it already answered was checked and is right.
    #[error("{} is damaged: {detail}", file.display())]
    Damaged {
        /// The damaged file, or the store's directory when RocksDB does not say which.
        file: PathBuf,
        /// What was found.
        detail: String,
    },
    /// The disk is full. Refuse writes, sync the log (recovery writes out everything applied
    /// so far), and try again: writing resumes some seconds after room is made.
    #[error("no space left for the store: {detail}")]
    NoSpace {
        /// What RocksDB said.
        detail: String,
    },
    /// The process, or the system, has too few file descriptors left. Nothing was done; try again
    /// once there are some.
    #[error(
        "too few file descriptors are left for the store: raise the limit of open files (ulimit -n)"
    )]
    NoFiles,
    /// The disk or file system failed. Do not acknowledge writes; reopening may help.
    #[error("the store's disk failed: {detail}")]
    Io {
        /// What RocksDB said.
        detail: String,
    },
    /// Flushes or compactions are too far behind. Nothing was done; try again shortly.
    #[error("the store's background work is too far behind, try again")]
    Stalled,
    /// Another process, or another handle in this one, has the store open.
    #[error("{} is already open elsewhere", path.display())]
    InUse {
        /// The store's directory.
        path: PathBuf,
    },
    /// The directory was written by a version of Dunlin with another format.
    #[error("{} has store format {found}, this version reads format 1", path.display())]
    Format {
        /// The store's directory.
        path: PathBuf,
        /// The format found.
        found: u32,
    },
    /// The keyspace number `u32::MAX` is reserved. A bug in the caller.
    #[error("keyspace number {} is reserved", u32::MAX)]
    ReservedKeyspace,
    /// RocksDB refused a call in a way that has no better name. A bug in this crate.
    #[error("RocksDB refused: {detail}")]
    Refused {
        /// What RocksDB said.
        detail: String,
    },
}

impl StoreError {
    /// Sorts a RocksDB error of the store at `path`.
    pub(crate) fn of(path: &Path, error: rocksdb::Error) -> Self {
        let kind = error.kind();
        let detail = error.into_string();
        // RocksDB wraps one status text in another ("Corruption: ... IO error: ..."), so the
        // words count more than the first of them.
        if detail.contains("No space left on device") {
            return Self::NoSpace { detail };
        }
        if detail.contains("Too many open files") {
            return Self::NoFiles;
        }
        if detail.contains("lock file") || detail.contains("lock hold by") {
            return Self::InUse {
                path: path.to_path_buf(),
            };
        }
        match kind {
            rocksdb::ErrorKind::Corruption => Self::Damaged {
                file: damaged_file(path, &detail),
                detail,
            },
            rocksdb::ErrorKind::IOError => Self::Io { detail },
            rocksdb::ErrorKind::Incomplete | rocksdb::ErrorKind::TryAgain => Self::Stalled,
            _ => Self::Refused { detail },
        }
    }
}

/// The first word of RocksDB's message that names one of the store's files.
fn damaged_file(path: &Path, detail: &str) -> PathBuf {
    detail
        .split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ';' | '(' | ')'))
        .filter_map(|word| {
            Path::new(word.trim_end_matches([':', '.']))
                .file_name()?
                .to_str()
        })
        .find(|name| name.ends_with(".sst") || name.starts_with("MANIFEST-") || *name == "CURRENT")
        .map_or_else(|| path.to_path_buf(), |name| path.join(name))
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
