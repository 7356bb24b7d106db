//! The databases that are copied, made by RocksDB itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;

use super::plan::KEY_BYTES;
use super::{Session, files};
use crate::child;
use crate::error::BenchError;

/// A database, removed when it is dropped unless it is to be kept.
#[derive(Debug)]
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    /// What it holds.
    pub holds: Holds,
    keep: bool,
}

/// What a source holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Holds {
    /// Bytes of each key.
    pub key_bytes: u64,
    /// Bytes of each value.
    pub value_bytes: u64,
    /// Pairs.
    pub pairs: u64,
    /// Bytes of all keys and values: what is counted in every rate.
    pub bytes: u64,
    /// Bytes of its files.
    pub file_bytes: u64,
}

impl Source {
    /// Makes one of `size_bytes` keys and values, of values that cannot be compressed, keys inserted in random order, each once,
    /// then compacted; and has it in the page cache.
    ///
    /// # Errors
    /// When `db_bench` fails, or the user stops the run.
    pub fn make(
        session: &Session,
        size_bytes: u64,
        value_bytes: u64,
    ) -> Result<Source, BenchError> {
        let pairs = (size_bytes / (KEY_BYTES + value_bytes)).max(1);
        let bytes = pairs * (KEY_BYTES + value_bytes);
        let path = session
            .scratch
            .path()
            .join(format!("source-{value_bytes}-{pairs}"));
        let mut source = Source {
            path,
            keep: session.keep,
            holds: Holds {
                key_bytes: KEY_BYTES,
                value_bytes,
                pairs,
                bytes,
                file_bytes: 0,
            },
        };
        let command = source.command(&session.programs.db_bench.path);
        child::run(command, session.scratch.path(), &session.interrupt)?;
        files::read(&source.path)?;
        source.holds.file_bytes = files::bytes(&source.path)?;
        session.progress.say(&format!(
            "source of {pairs} pairs with values of {value_bytes} B: {:.2} GB in {:.2} GB of files",
            bytes as f64 / 1e9,
            source.holds.file_bytes as f64 / 1e9
        ));
        Ok(source)
    }

    fn command(&self, db_bench: &Path) -> Command {
        let mut command = Command::new(db_bench);
        command
            // Each key once, so that it is known beforehand what there must be.
            .arg("--benchmarks=filluniquerandom,compact")
            .arg(format!("--db={}", self.path.display()))
            .arg(format!("--num={}", self.holds.pairs))
            .arg(format!("--key_size={}", self.holds.key_bytes))
            .arg(format!("--value_size={}", self.holds.value_bytes))
            .args(["--compression_type=none", "--compression_ratio=1.0"])
            .args(["--disable_wal=true", "--disable_auto_compactions=true"])
            .args(["--subcompactions=2", "--max_background_jobs=2", "--seed=1"]);
        command
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        if !self.keep {
            // The scratch directory goes at the end with whatever is left.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
