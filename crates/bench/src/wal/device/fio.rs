//! `fio`, the usual measure of a disk.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::child;
use crate::error::BenchError;
use crate::program;
use crate::wal::Session;

/// The program.
pub const NAME: &str = "fio";
const FILE_BYTES: u64 = 16 << 20;

/// Where it is installed.
pub fn find() -> Option<PathBuf> {
    program::find(NAME)
}

/// Writes of 4 KiB with `fdatasync` a second, one writer, over a file that fio has laid out.
///
/// # Errors
/// [`BenchError::Rival`] when it fails or prints something else; or the user stops the run.
pub fn rate(
    program: &Path,
    directory: &Path,
    run: Duration,
    session: &Session,
) -> Result<f64, BenchError> {
    let mut command = Command::new(program);
    command
        .args(["--name=sync", "--ioengine=psync", "--rw=write", "--bs=4k"])
        .args(["--fdatasync=1", "--overwrite=1", "--time_based=1"])
        .arg(format!("--size={FILE_BYTES}"))
        .arg(format!("--runtime={}ms", run.as_millis()))
        .arg(format!("--filename={}", directory.join("fio").display()))
        .arg("--output-format=json");
    let printed = child::run(command, directory, &session.interrupt)?;
    write_number(&printed, "iops").ok_or_else(|| BenchError::Rival {
        program: NAME.into(),
        why: format!("no result in what it printed: {printed}"),
    })
}

/// What it says in this field about the writes of the first job, or group of jobs.
pub fn write_number(printed: &str, field: &str) -> Option<f64> {
    // Warnings may stand before the object.
    let json = printed.get(printed.find('{')?..)?;
    let value: serde_json::Value = serde_json::from_str(json).ok()?;
    value["jobs"][0]["write"][field].as_f64()
}

#[cfg(test)]
#[path = "fio_tests.rs"]
mod tests;
