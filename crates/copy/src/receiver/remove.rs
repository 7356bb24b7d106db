//! A database that goes.

use std::fs;
use std::path::Path;

use super::place::sync_directory;
use crate::CopyError;
use crate::source::directory;

/// Removes a database's files, `CURRENT` first, so that what is left is never taken for one.
pub(crate) fn remove_database(path: &Path) -> Result<(), CopyError> {
    let mut names = directory::names(path)?;
    names.retain(|name| directory::is_of_database(name));
    names.sort_by_key(|name| name != "CURRENT");
    for name in names {
        let file = path.join(&name);
        if file.is_dir() {
            continue;
        }
        fs::remove_file(&file).map_err(|error| CopyError::io(&file, error))?;
        if name == "CURRENT" {
            sync_directory(path)?;
        }
    }
    sync_directory(path)
}
