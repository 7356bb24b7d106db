//! What a copy is told.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dunlin_secret::{Door, Guard};

use crate::keyspace::KeyspaceAddress;
use crate::plan::{Mode, Onto};
use crate::wire::codec::Compression;

/// Where a copy goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A directory of this machine.
    Directory(PathBuf),
    /// `HOST:PORT` of a receiver.
    Receiver(String),
    /// A keyspace of a running cluster.
    Keyspace(KeyspaceAddress),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Directory(path) => path.display().fmt(f),
            Target::Receiver(address) => address.fmt(f),
            Target::Keyspace(address) => address.fmt(f),
        }
    }
}

/// What a copy is told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The database: stopped, a checkpoint, or in use by a program.
    pub source: PathBuf,
    /// Where it goes.
    pub target: Target,
    /// How; chosen by what the target needs when absent.
    pub mode: Option<Mode>,
    /// What happens to a database that is at the target.
    pub onto: Onto,
    /// Whether a keyspace is compared with the source once all is sent.
    pub is_compared: bool,
    /// Column families to copy; all when empty.
    pub column_families: Vec<String>,
    /// Connections, each with a reader and a writer of its own.
    pub connections: usize,
    /// Compression of what is sent.
    pub compression: Compression,
    /// Compression of tables that the target writes.
    pub table_compression: Compression,
    /// The most bytes to send in a second.
    pub limit_bytes_per_s: Option<u64>,
    /// How long a lost connection is tried again.
    pub retry_for: Duration,
    /// About how many bytes on disk a range has; when absent, as suits the target.
    pub range_bytes: Option<u64>,
    /// The secret that is proven to a receiver, if any.
    pub guard: Arc<Guard>,
    /// Where the source's logs are; when absent, beside its tables.
    pub log_directory: Option<PathBuf>,
    /// Where the checkpoint is made; beside the source when absent.
    pub checkpoint_directory: Option<PathBuf>,
}

/// Bytes on disk of a range, unless told otherwise.
const RANGE_BYTES: u64 = 64 << 20;

impl Settings {
    /// About how many bytes on disk a range is to have.
    pub(crate) fn range_bytes(&self) -> u64 {
        self.range_bytes.unwrap_or(RANGE_BYTES)
    }

    /// The settings that a copy has unless told otherwise.
    pub fn new(source: PathBuf, target: Target) -> Settings {
        Settings {
            source,
            target,
            mode: None,
            onto: Onto::Empty,
            is_compared: true,
            column_families: Vec::new(),
            connections: 4,
            compression: Compression::None,
            table_compression: Compression::Lz4,
            limit_bytes_per_s: None,
            retry_for: Duration::from_secs(60),
            range_bytes: None,
            guard: Guard::off(Door::Copy),
            log_directory: None,
            checkpoint_directory: None,
        }
    }
}
