//! One process at a time in a data directory.

use std::fs::{File, TryLockError};
use std::path::Path;

use dunlin_log::disk::{Disk, RealDisk};

use crate::failure::Failure;

/// Name of the lock file.
pub const FILE: &str = "dunlin.lock";

/// An advisory lock on a data directory, held until dropped or until the process ends in any way.
pub struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    /// Makes the directory if need be and takes its lock.
    pub fn take(directory: &Path) -> Result<DirectoryLock, Failure> {
        let in_directory = |error: std::io::Error| Failure::file(directory, &error);
        // Its name must outlive a power cut as what will be synced in it does.
        RealDisk.create_dir_all(directory).map_err(in_directory)?;
        let path = directory.join(FILE);
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|error| Failure::file(&path, &error))?;
        match file.try_lock() {
            Ok(()) => Ok(DirectoryLock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(Failure::Failed(format!(
                "data directory {} is in use by another dunlin; stop it or choose another --data",
                directory.display()
            ))),
            Err(TryLockError::Error(error)) => Err(Failure::file(&path, &error)),
        }
    }
}

#[cfg(test)]
#[path = "lock_tests.rs"]
mod tests;
