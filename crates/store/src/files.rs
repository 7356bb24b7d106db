//! Files: what RocksDB itself does not look at before it opens a directory.
//!
//! This crate is the one real implementation of "a store on disk"; here and in RocksDB are the
//! only places where it touches the file system.

use std::fs;
use std::io;
use std::path::Path;

use crate::StoreError;

/// Refuses a directory that has lost its `CURRENT` file: RocksDB would take it for empty, start
/// afresh and delete the tables it finds.
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
    if path.join("CURRENT").try_exists().map_err(io)? {
        return Ok(());
    }
    for file in fs::read_dir(path).map_err(io)? {
        let name = file.map_err(io)?.file_name();
        let name = name.to_string_lossy();
        if name.ends_with(".sst") {
            return Err(StoreError::Damaged {
                file: path.join("CURRENT"),
                detail: format!("the file is missing but {name} is there"),
            });
        }
    }
    Ok(())
}
