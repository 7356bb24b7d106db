//! What the disk takes: fio writing as much, in as many files as there are connections.

use std::process::Command;

use crate::child;
use crate::copy::plan::CONNECTIONS;
use crate::copy::source::Source;
use crate::copy::{Session, files};
use crate::error::BenchError;
use crate::wal::device::fio;

/// Writes the bytes of the source's files once, one block of 1 MiB behind the other through the
/// page cache, and syncs them at the end; bytes a second of that, all of it.
///
/// # Errors
/// When fio is not installed or fails, or the user stops the run.
pub fn run(session: &Session, source: &Source) -> Result<f64, BenchError> {
    let target = session.target();
    std::fs::create_dir_all(&target).map_err(files::at(&target))?;
    let each = source.holds.file_bytes / CONNECTIONS as u64;
    let mut command = Command::new(fio::NAME);
    command
        .args(["--name=write", "--ioengine=psync", "--rw=write", "--bs=1M"])
        .args(["--end_fsync=1", "--group_reporting", "--thread"])
        .arg(format!("--numjobs={CONNECTIONS}"))
        .arg(format!("--size={each}"))
        .arg(format!("--directory={}", target.display()))
        .arg("--output-format=json");
    let printed = child::run(command, session.scratch.path(), &session.interrupt)?;
    fio::write_number(&printed, "bw_bytes").ok_or_else(|| BenchError::Rival {
        program: fio::NAME.into(),
        why: format!("no result in what it printed: {printed}"),
    })
}
