//! The file `running` of a shard's directory (formats, section 3): who last used it, since when the
//! machine had been up, and whether it was closed. What an earlier life left behind is judged by it.

use std::io;
use std::path::Path;

use dunlin_log::disk::Disk;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::machine::Machine;

const FILE: &str = "running";
const NEXT_FILE: &str = "running.next";

/// Contents of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    /// Start of the node that wrote it.
    pub incarnation: u32,
    /// The time since the machine was last switched on, as [`Machine::boot`] names it.
    pub boot: Option<String>,
    /// This very file, as [`Machine::file`] names it.
    pub file: Option<String>,
    /// Last record of the log when all was on disk and the shard was closed; absent while it runs.
    pub closed_at: Option<u64>,
    /// A start after a loss of power has begun to look at the log, and may have cut its end.
    pub recovering: bool,
}

/// What was found in a shard's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// No such file: a new directory, or one last used by a program that wrote none.
    None,
    /// It cannot be read.
    Damaged,
    /// It says so, and whether it is the file that was written and no copy.
    Mark { mark: Mark, is_original: bool },
}

impl Mark {
    /// Of this start, on this machine.
    pub fn now(incarnation: u32, machine: &dyn Machine) -> Mark {
        Mark {
            incarnation,
            boot: machine.boot(),
            ..Mark::default()
        }
    }

    /// Reads the file.
    pub fn load(disk: &dyn Disk, machine: &dyn Machine, dir: &Path) -> Found {
        let path = dir.join(FILE);
        match read_json::<Mark>(disk, &path) {
            Ok(mark) => {
                let is_original = match (&mark.file, machine.file(&path)) {
                    (Some(noted), Some(now)) => *noted == now,
                    _ => true,
                };
                Found::Mark { mark, is_original }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Found::None,
            Err(error) => {
                tracing::warn!(%error, file = %path.display(), "cannot be read");
                Found::Damaged
            }
        }
    }

    /// Replaces the file; on disk when this returns. On a full disk a directory that has none stays
    /// without.
    ///
    /// # Errors
    /// What the disk says; the file is as it was then.
    pub fn store(&self, disk: &dyn Disk, machine: &dyn Machine, dir: &Path) -> io::Result<()> {
        match self.replace(disk, machine, dir) {
            Err(full) if is_full(&full) => match self.overwrite(disk, machine, dir) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                overwritten => overwritten,
            },
            replaced => replaced,
        }
    }

    /// In the room that the file has already: one sector, which is written as a whole or not at all.
    fn overwrite(&self, disk: &dyn Disk, machine: &dyn Machine, dir: &Path) -> io::Result<()> {
        drop(disk.remove(&dir.join(NEXT_FILE)));
        let path = dir.join(FILE);
        let file = disk.open(&path, false)?;
        let named = Mark {
            file: machine.file(&path),
            ..self.clone()
        };
        let mut json = serde_json::to_vec(&named)?;
        let length = usize::try_from(file.len()?).map_err(io::Error::other)?;
        json.resize(json.len().max(length), b' ');
        file.write_at(&json, 0)?;
        file.sync()
    }

    fn replace(&self, disk: &dyn Disk, machine: &dyn Machine, dir: &Path) -> io::Result<()> {
        let next = dir.join(NEXT_FILE);
        // A file left by a crash keeps its name for itself, and may be a copy's.
        match disk.remove(&next) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = disk.open(&next, true)?;
        let named = Mark {
            file: machine.file(&next),
            ..self.clone()
        };
        file.write_at(&serde_json::to_vec(&named)?, 0)?;
        file.sync()?;
        disk.rename(&next, &dir.join(FILE))?;
        disk.sync_dir(dir)
    }
}

/// Reads what is written as JSON in a small file.
pub(super) fn read_json<T: DeserializeOwned>(disk: &dyn Disk, path: &Path) -> io::Result<T> {
    let file = disk.open(path, false)?;
    let mut bytes = Vec::new();
    let length = usize::try_from(file.len()?).map_err(io::Error::other)?;
    file.read_into(&mut bytes, length, 0)?;
    serde_json::from_slice(&bytes).map_err(io::Error::from)
}

/// Whether an error means that the disk, or the quota, is full.
pub(crate) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded)
}

#[cfg(test)]
#[path = "mark_tests.rs"]
mod tests;
