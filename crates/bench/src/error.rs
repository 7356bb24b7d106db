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
    /// A log's bytes are not where they must be: nothing measured with it would mean anything.
    #[error("{0}")]
    Layout(String),
    /// The log under test could not be opened.
    #[error("log: {0}")]
    Open(#[from] dunlin_log::OpenError),
    /// The log under test did not accept an entry.
    #[error("log: {0}")]
    Append(#[from] dunlin_log::AppendError),
    /// The log under test stopped.
    #[error("log: {0}")]
    Stopped(#[from] dunlin_log::Failure),
    /// The log under test could not be read.
    #[error("log: {0}")]
    Cursor(#[from] dunlin_log::CursorError),
    /// A program without which nothing can be measured is missing: install its package.
    #[error("no {program} is installed: install the Debian package {package}")]
    Missing {
        /// Which.
        program: &'static str,
        /// What holds it.
        package: &'static str,
    },
    /// The disk would be full: free some of it, name another with `--data-dir`, or ask for less.
    #[error("{}: {:.1} GB are free, {:.1} GB are needed: name another place with --data-dir or ask for less with --size and --long-size", .path.display(), *.free as f64 / 1e9, *.needed as f64 / 1e9)]
    NoSpace {
        /// Where.
        path: PathBuf,
        /// Bytes that are needed.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// A copy is not what was copied: nothing measured with it would mean anything.
    #[error("not everything was copied once: {0}")]
    Miscounted(String),
    /// A rival's program did not do what it was asked.
    #[error("{program}: {why}")]
    Rival {
        /// Which.
        program: String,
        /// What it did instead.
        why: String,
    },
    /// A change of the members did not go as it must: see the nodes' logs.
    #[error("members: {0}")]
    Members(String),
    /// A chart could not be drawn.
    #[error("{name}: {why}")]
    Chart {
        /// Which.
        name: String,
        /// What is wrong.
        why: String,
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

/// Something that is no request of a load failed.
pub fn failed(what: impl Into<String>, detail: impl std::fmt::Display) -> BenchError {
    BenchError::Unsound {
        what: what.into(),
        errors: 1,
        requests: 1,
        detail: detail.to_string(),
    }
}
