//! Why a benchmark ended without a result.

use std::io;
use std::path::PathBuf;

use crate::cluster::ClusterError;
use crate::interrupt::Interrupted;
use crate::load::generator::LoadError;

/// Why a benchmark ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The `dunlin` binary is missing: build it, or name it with `--dunlin`.
    #[error("no dunlin binary at {}: build it with `cargo build --release` or name it with --dunlin", .0.display())]
    NoDunlin(PathBuf),
    /// Servers did not start or did not keep running.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The load could not be carried out.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// What was written could not be read back: the numbers would mean nothing.
    #[error("{what}: {errors} of {requests} requests failed ({detail})")]
    Unsound {
        /// What was done.
        what: String,
        /// How many requests failed.
        errors: u64,
        /// Out of how many.
        requests: u64,
        /// How they failed.
        detail: String,
    },
    /// A file or directory could not be used.
    #[error("{}: {source}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The process cannot do what it needs.
    #[error("{0}")]
    System(#[from] io::Error),
    /// The report could not be encoded.
    #[error("report: {0}")]
    Encode(#[from] serde_json::Error),
    /// The user stopped the run.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}
