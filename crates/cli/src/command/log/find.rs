//! Where the logs are in a data directory, and whose data it is.

use std::io;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::lock;

/// How deep below a data directory a log can be.
const DEPTH: usize = 4;
/// A segment's name is this many digits and `.log`; RocksDB's own files have fewer.
const DIGITS: usize = 20;

/// The directories with segments in or below `directory`, in order.
pub fn logs(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    search(directory, DEPTH, &mut |directory, names| {
        if names.iter().any(|name| is_segment(name)) {
            found.push(directory.to_owned());
        }
    })
    .map_err(|error| Failure::file(directory, &error))?;
    found.sort();
    if found.is_empty() {
        return Err(Failure::NotFound(format!(
            "no log in {}",
            directory.display()
        )));
    }
    Ok(found)
}

/// The data directories that `directory` is, holds, or is in: those a running node would lock.
pub fn homes(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let directory = directory
        .canonicalize()
        .map_err(|error| Failure::file(directory, &error))?;
    let mut found: Vec<PathBuf> = directory
        .ancestors()
        .skip(1)
        .take(DEPTH)
        .filter(|home| home.join(lock::FILE).is_file())
        .map(Path::to_owned)
        .collect();
    search(&directory, DEPTH, &mut |directory, names| {
        if names.iter().any(|name| name == lock::FILE) {
            found.push(directory.to_owned());
        }
    })
    .map_err(|error| Failure::file(&directory, &error))?;
    Ok(found)
}

fn search(
    directory: &Path,
    depth: usize,
    visit: &mut impl FnMut(&Path, &[String]),
) -> io::Result<()> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if depth > 0 && entry.file_type()?.is_dir() {
            search(&entry.path(), depth - 1, visit)?;
        }
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    visit(directory, &names);
    Ok(())
}

fn is_segment(name: &str) -> bool {
    name.strip_suffix(".log").is_some_and(|number| {
        number.len() == DIGITS && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}
