//! Files: what RocksDB itself does not look at before it opens a directory.
//!
//! This crate is the one real implementation of "a store on disk"; here and in RocksDB are the
//! only places where it touches the file system.

use std::fs;
use std::io;
use std::path::Path;

use crate::StoreError;

/// Begins the names of files that RocksDB is yet to take over.
const UNFINISHED: &str = "ingest-";

/// The name of a file that RocksDB is yet to take over.
pub(crate) fn unfinished(number: u64) -> String {
    format!("{UNFINISHED}{number}.sst")
}

/// Removes a file.
///
/// # Errors
/// [`StoreError::Io`].
#[allow(
    clippy::disallowed_methods,
    reason = "RocksDB is the real disk here, in simulations too"
)]
pub(crate) fn remove(path: &Path) -> Result<(), StoreError> {
    fs::remove_file(path).map_err(|error| StoreError::Io {
        detail: format!("{}: {error}", path.display()),
    })
}

/// Refuses a directory that has lost its `CURRENT` file: RocksDB would take it for empty, start
/// afresh and delete the tables it finds. Removes what a crash has left unfinished.
///
/// # Errors
/// [`StoreError::Damaged`] when tables or manifests stand without `CURRENT`, [`StoreError::Io`]
/// when the directory cannot be read or made.
#[allow(
    clippy::disallowed_methods,
    reason = "RocksDB is the real disk here, in simulations too"
)]
pub(crate) fn check(path: &Path) -> Result<(), StoreError> {
    let io = |error: io::Error| StoreError::Io {
        detail: format!("{}: {error}", path.display()),
    };
    fs::create_dir_all(path).map_err(io)?;
    let is_there = path.join("CURRENT").try_exists().map_err(io)?;
    for file in fs::read_dir(path).map_err(io)? {
        let file = file.map_err(io)?;
        let name = file.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(UNFINISHED) {
            remove(&file.path())?;
        } else if name.ends_with(".sst") && !is_there {
            return Err(StoreError::Damaged {
                file: path.join("CURRENT"),
                detail: format!("the file is missing but {name} is there"),
            });
        }
    }
    Ok(())
}
