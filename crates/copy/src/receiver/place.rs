//! The paths of a target, what it holds, and steps that survive a crash.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, fcntl_lock};

use crate::CopyError;
use crate::source::directory;
use crate::wire::message::{Holds, Receipt};

const PARTIAL: &str = "dunlin-copy.partial";
const RECEIPT: &str = "dunlin-copy.json";

/// A target's directory.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Where the database will be.
    pub directory: PathBuf,
}

impl Place {
    /// What is not whole.
    pub fn partial(&self) -> PathBuf {
        self.directory.join(PARTIAL)
    }

    /// The plan and the phase.
    pub fn plan(&self) -> PathBuf {
        self.partial().join("plan.json")
    }

    /// The journal of finished units.
    pub fn done(&self) -> PathBuf {
        self.partial().join("done")
    }

    /// Finished ranges.
    pub fn tables(&self) -> PathBuf {
        self.partial().join("tables")
    }

    /// Names of finished ranges that a database takes for itself.
    pub fn ingested(&self) -> PathBuf {
        self.partial().join("ingested")
    }

    /// Files, or a database, that will move up.
    pub fn database(&self) -> PathBuf {
        self.partial().join("db")
    }

    /// What remains when the copy is whole.
    pub fn receipt(&self) -> PathBuf {
        self.directory.join(RECEIPT)
    }

    /// Looks at what is there, a partial copy and a receipt apart.
    pub fn holds(&self) -> Result<Holds, CopyError> {
        if !self.directory.exists() {
            return Ok(Holds::Nothing);
        }
        let mut names = directory::names(&self.directory)?;
        names.retain(|name| !name.starts_with("dunlin-copy.") && name != "lost+found");
        if names.is_empty() {
            return Ok(Holds::Nothing);
        }
        let is_database = names.iter().any(|name| name == "CURRENT");
        Ok(if is_database {
            Holds::Database
        } else {
            Holds::Other
        })
    }

    /// The receipt, when the database is as the copy left it.
    pub fn valid_receipt(&self) -> Option<Receipt> {
        let text = fs::read(self.receipt()).ok()?;
        let receipt: Receipt = serde_json::from_slice(&text).ok()?;
        let (current, manifest_bytes) = identity(&self.directory).ok()?;
        (receipt.current == current && receipt.manifest_bytes == manifest_bytes).then_some(receipt)
    }

    /// Removes what a copy needed until it was whole. The plan goes first: without it, and with a
    /// receipt, the rest no longer counts.
    pub fn forget(&self) -> Result<(), CopyError> {
        let plan = self.plan();
        match fs::remove_file(&plan) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(CopyError::io(&plan, error));
            }
            Err(_) => {}
            Ok(()) => sync_directory(&self.partial())?,
        }
        remove_directory(&self.partial())?;
        sync_directory(&self.directory)
    }

    /// Takes the lock of the partial copy, for as long as the file is open.
    pub fn lock(&self) -> Result<File, CopyError> {
        let partial = self.partial();
        fs::create_dir_all(&partial).map_err(|error| CopyError::io(&partial, error))?;
        let path = partial.join("lock");
        let opened = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path);
        let file = opened.map_err(|error| CopyError::io(&path, error))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(fs::TryLockError::WouldBlock) => Err(CopyError::InUse {
                path: self.directory.clone(),
            }),
            Err(fs::TryLockError::Error(error)) => Err(CopyError::io(&path, error)),
        }
    }

    /// Refuses a database that a program has open.
    pub fn check_unused(&self) -> Result<(), CopyError> {
        let path = self.directory.join("LOCK");
        let file = match File::options().write(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(CopyError::io(&path, error)),
        };
        match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(()),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => Err(CopyError::InUse {
                path: self.directory.clone(),
            }),
            Err(error) => Err(CopyError::io(&path, error.into())),
        }
    }
}

/// What changes whenever a database is opened: the content of `CURRENT`, the manifest's length.
pub(crate) fn identity(path: &Path) -> Result<(String, u64), CopyError> {
    let missing = || CopyError::Damaged {
        file: path.join("CURRENT"),
        detail: "the file is missing".to_owned(),
    };
    let current = directory::current(path)?.ok_or_else(missing)?;
    let manifest = path.join(&current);
    let length = fs::metadata(&manifest).map_err(|error| CopyError::io(&manifest, error))?;
    Ok((current, length.len()))
}

/// Replaces a file by `bytes`, durably and at once.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), CopyError> {
    let at = |error| CopyError::io(path, error);
    let temporary = path.with_extension("tmp");
    let mut file = File::create(&temporary).map_err(at)?;
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .map_err(at)?;
    fs::rename(&temporary, path).map_err(at)?;
    path.parent().map_or(Ok(()), sync_directory)
}

/// Makes the names in a directory durable.
pub(crate) fn sync_directory(path: &Path) -> Result<(), CopyError> {
    File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(|error| CopyError::io(path, error))
}

/// Removes a directory and what is in it, if it is there.
pub(crate) fn remove_directory(path: &Path) -> Result<(), CopyError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(CopyError::io(path, error)),
        _ => Ok(()),
    }
}
