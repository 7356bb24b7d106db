//! What can go wrong, by what the user should do about it. Every message is one line.

use std::io;
use std::path::{Path, PathBuf};

use dunlin_secret::{Door, Refusal};

/// Why a copy did not become whole.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The source is no RocksDB database. Name another directory.
    #[error("{} is not a RocksDB database: {detail}", path.display())]
    NotADatabase {
        /// The directory.
        path: PathBuf,
        /// What is missing.
        detail: String,
    },
    /// A file is missing or its bytes are not what was written. Restore it, or copy another
    /// replica.
    #[error("{} is damaged: {detail}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What was found.
        detail: String,
    },
    /// The database needs code or settings that this program does not have.
    #[error("{}: {detail}", path.display())]
    Unsupported {
        /// The database.
        path: PathBuf,
        /// What it needs.
        detail: String,
    },
    /// The arguments contradict each other or what is at the target. Change them.
    #[error("{0}")]
    Refused(String),
    /// A database changed faster than a checkpoint of it could be made. Try again.
    #[error("{} changes too fast for a checkpoint, try again", path.display())]
    Changing {
        /// The database.
        path: PathBuf,
    },
    /// Another process has the directory open.
    #[error("{} is in use by another process", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The disk is full. Make room and run the same command again.
    #[error("{}: no space left on the disk; make room and run the same command again", path.display())]
    NoSpace {
        /// Where.
        path: PathBuf,
    },
    /// A disk or file system failed.
    #[error("{}: {detail}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        detail: String,
    },
    /// The connection broke. Tried again until the deadline.
    #[error("connection to {peer} lost: {detail}")]
    Lost {
        /// The other side.
        peer: String,
        /// What happened.
        detail: String,
    },
    /// The other side does not speak this protocol, or another version of it.
    #[error("{peer}: {detail}")]
    Protocol {
        /// The other side.
        peer: String,
        /// What it said.
        detail: String,
    },
    /// The two sides do not share a secret. The line says what to do.
    #[error("{peer}: {}", refusal.line(Door::Copy))]
    Untrusted {
        /// The other side.
        peer: String,
        /// Why not.
        refusal: Refusal,
    },
    /// The receiver gave up. The text is its error.
    #[error("{text}")]
    Receiver {
        /// What kind of failure.
        code: RefusalCode,
        /// Its line, behind its address when that is not this process.
        text: String,
    },
    /// A unit did not arrive as it was sent. It is sent again, a few times.
    #[error("{what} did not arrive as it was sent")]
    Mismatch {
        /// The unit.
        what: String,
    },
    /// A pair is larger than can be carried.
    #[error(
        "the value of a key of {key_bytes} bytes in column family {column_family} has {value_bytes} bytes; a pair may have {} together",
        crate::wire::frame::PAIR_BYTES_MAX
    )]
    TooLarge {
        /// Column family.
        column_family: String,
        /// Length of the key.
        key_bytes: usize,
        /// Length of the value.
        value_bytes: usize,
    },
    /// There is no such keyspace. Create it.
    #[error(
        "there is no keyspace {name}; create it: dunlin keyspace create {name} --server {servers}"
    )]
    NoKeyspace {
        /// Its name.
        name: String,
        /// The cluster's servers.
        servers: String,
    },
    /// The cluster cannot be reached or refuses. Tried again until the deadline if that may help.
    #[error(transparent)]
    Cluster(dunlin_client::ClientError),
    /// A pair that no keyspace takes.
    #[error("column family {column_family}: the key {key} {reason}")]
    Unfit {
        /// Column family.
        column_family: String,
        /// The key's beginning, in printable characters.
        key: String,
        /// What is wrong with it or its value.
        reason: String,
    },
    /// A keyspace holds a part of the source.
    #[error("{target} is partial, {done} of {of} units are there: {error}")]
    Partial {
        /// The keyspace.
        target: String,
        /// Units that are there.
        done: usize,
        /// All units.
        of: usize,
        /// Why not more.
        error: Box<CopyError>,
    },
    /// Source and target differ.
    #[error("source and target differ in {ranges} of {of} ranges; the first: {first}")]
    Different {
        /// How many ranges differ.
        ranges: usize,
        /// How many were compared.
        of: usize,
        /// The first of them.
        first: String,
    },
    /// The user asked to stop. What is done is kept.
    #[error("interrupted; run the same command again to go on")]
    Interrupted,
}

/// What kind of failure a receiver reports, as on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalCode {
    /// Anything without a code of its own.
    Failed,
    /// A unit did not arrive as it was sent: send it again.
    Mismatch,
    /// The receiver knows no such copy.
    Unknown,
    /// Its disk is full.
    NoSpace,
    /// Another copy is under way.
    Busy,
    /// The target does not fit the request.
    Target,
}

impl RefusalCode {
    const ALL: [RefusalCode; 6] = [
        RefusalCode::Failed,
        RefusalCode::Mismatch,
        RefusalCode::Unknown,
        RefusalCode::NoSpace,
        RefusalCode::Busy,
        RefusalCode::Target,
    ];

    /// The number on the wire.
    pub(crate) fn number(self) -> u16 {
        self as u16 + 1
    }

    /// From the number on the wire; codes of later versions are plain failures.
    pub(crate) fn of(number: u16) -> RefusalCode {
        let known = Self::ALL.into_iter().find(|code| code.number() == number);
        known.unwrap_or(RefusalCode::Failed)
    }
}

impl CopyError {
    /// An error of the file system at `path`.
    pub(crate) fn io(path: &Path, error: io::Error) -> CopyError {
        if error.kind() == io::ErrorKind::StorageFull {
            return CopyError::NoSpace {
                path: path.to_path_buf(),
            };
        }
        CopyError::Io {
            path: path.to_path_buf(),
            detail: error.to_string(),
        }
    }

    /// Sorts an error of RocksDB about the database at `path`.
    pub(crate) fn database(path: &Path, error: &rocksdb::Error) -> CopyError {
        let path = path.to_path_buf();
        let detail = one_line(error.as_ref());
        // RocksDB wraps one status in another, so the words count more than the first of them.
        if detail.contains("No space left on device") {
            return CopyError::NoSpace { path };
        }
        if detail.contains("lock file") || detail.contains("lock hold by") {
            return CopyError::InUse { path };
        }
        if let Some(unsupported) = unsupported(&detail) {
            return CopyError::Unsupported {
                path,
                detail: unsupported,
            };
        }
        let is_missing = detail.contains("No such file or directory");
        match named_file(&path, &detail) {
            Some(file) if is_missing => CopyError::Damaged {
                file,
                detail: "the file is missing".to_owned(),
            },
            Some(file) if error.kind() == rocksdb::ErrorKind::Corruption => {
                CopyError::Damaged { file, detail }
            }
            None if error.kind() == rocksdb::ErrorKind::Corruption => {
                CopyError::Damaged { file: path, detail }
            }
            _ => CopyError::Io { path, detail },
        }
    }

    /// The code under which a receiver reports this.
    pub(crate) fn code(&self) -> RefusalCode {
        match self {
            CopyError::NoSpace { .. } => RefusalCode::NoSpace,
            CopyError::Mismatch { .. } => RefusalCode::Mismatch,
            CopyError::InUse { .. } => RefusalCode::Busy,
            CopyError::Refused(_) => RefusalCode::Target,
            CopyError::Receiver { code, .. } => *code,
            _ => RefusalCode::Failed,
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a database needs and this program lacks, in words.
fn unsupported(detail: &str) -> Option<String> {
    if detail.contains("merge_operator") {
        return Some(
            "the database has merge operands, which only the program that wrote it can read; \
             flush it there and use --mode files"
                .to_owned(),
        );
    }
    if detail.contains("omparator")
        && (detail.contains("does not match") || detail.contains("comparator mismatch"))
    {
        return Some(format!(
            "only the default comparator, leveldb.BytewiseComparator, can be copied ({detail})"
        ));
    }
    if detail.contains("user-defined timestamps") {
        return Some("databases with user-defined timestamps cannot be copied".to_owned());
    }
    const CODECS: [&str; 6] = ["Snappy", "Zlib", "BZip2", "XPRESS", "LZ4", "ZSTD"];
    let is_codec = detail.contains("not supported") || detail.contains("nsupported compression");
    if is_codec && let Some(codec) = CODECS.iter().find(|codec| detail.contains(**codec)) {
        return Some(no_codec(codec));
    }
    None
}

/// The line about a compression that this build lacks.
pub(crate) fn no_codec(name: &str) -> String {
    format!(
        "tables are compressed with {name}, which this program cannot read (it has Snappy, zlib, \
         bzip2, LZ4 and Zstandard); compact the database with one of them first"
    )
}

/// The first word of RocksDB's message that names one of the database's files.
fn named_file(path: &Path, detail: &str) -> Option<PathBuf> {
    detail
        .split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ';' | '(' | ')'))
        .filter_map(|word| {
            Path::new(word.trim_end_matches([':', '.']))
                .file_name()?
                .to_str()
        })
        .find(|name| {
            [".sst", ".blob", ".log"]
                .iter()
                .any(|end| name.ends_with(end))
                || name.starts_with("MANIFEST-")
                || *name == "CURRENT"
        })
        .map(|name| path.join(name))
}
