//! The machine's Debian package catalogue as a file.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// Writes the catalogue to `path` and returns its size in bytes.
pub fn dump(path: &Path) -> Result<u64, Failure> {
    let file = File::create(path).map_err(|error| Failure::file(path, &error))?;
    let status = Command::new("apt-cache")
        .arg("dumpavail")
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(Stdio::null())
        .status();
    let failed = match status {
        Ok(status) if status.success() => None,
        Ok(status) => Some(format!("it ended with {status}")),
        Err(error) => Some(error.to_string()),
    };
    if let Some(reason) = failed {
        return Err(Failure::Failed(format!(
            "apt-cache dumpavail: {reason}; it needs Debian, elsewhere give a deb822 file with --file"
        )));
    }
    let size_bytes = std::fs::metadata(path)
        .map_err(|error| Failure::file(path, &error))?
        .len();
    if size_bytes == 0 {
        return Err(Failure::Failed(
            "apt-cache dumpavail knows no packages; run apt-get update, or give a deb822 file with --file".to_owned(),
        ));
    }
    Ok(size_bytes)
}
