//! A file that is replaced as a whole: either the old content or the new is there, never a mix.
#![allow(
    clippy::disallowed_methods,
    reason = "these are the real files of metadata; in memory there are none"
)]
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Reads the file; `None` when there is none.
pub(crate) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Replaces the file, which only its owner may read; when this returns, the new content survives a power cut.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = beside(path, ".new");
    // Whoever may read it could try passwords against their hashes.
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&new)?;
    // One that a crash left behind has the mode of its time.
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(content)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&new, path)?;
    File::open(folder(path))?.sync_all()
}

/// Takes the lock that goes with the file, making its folder if need be. Held until the result is
/// dropped; `None` when another holder has it.
pub(crate) fn lock(path: &Path) -> io::Result<Option<File>> {
    fs::create_dir_all(folder(path))?;
    let lock = File::create(beside(path, ".lock"))?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
