//! Why the repository cannot be read.

use std::path::PathBuf;

/// Why the repository could not be read.
#[derive(Debug, thiserror::Error)]
pub enum HouseError {
    /// The file system refused.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A Cargo.toml does not parse: fix it first.
    #[error("{path}: {source}")]
    Manifest {
        /// The file, from the root.
        path: String,
        /// What the parser says.
        source: toml::de::Error,
    },
}
