//! Directories: what they hold, reading it, putting it on disk.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::BenchError;

/// All files below a directory.
///
/// # Errors
/// [`BenchError::File`] when it cannot be read.
pub fn below(directory: &Path) -> Result<Vec<PathBuf>, BenchError> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).map_err(at(&directory))? {
            let path = entry.map_err(at(&directory))?.path();
            if path.is_dir() {
                directories.push(path)
            } else {
                files.push(path)
            }
        }
    }
    Ok(files)
}

/// Bytes of all files below a directory.
///
/// # Errors
/// [`BenchError::File`] when it cannot be read.
pub fn bytes(directory: &Path) -> Result<u64, BenchError> {
    below(directory)?.iter().try_fold(0, |sum, path| {
        Ok(sum + fs::metadata(path).map_err(at(path))?.len())
    })
}

/// Reads all files below a directory, so that the page cache holds them.
///
/// # Errors
/// [`BenchError::File`] when one cannot be read.
pub fn read(directory: &Path) -> Result<(), BenchError> {
    below(directory)?.iter().try_for_each(|path| {
        let mut file = File::open(path).map_err(at(path))?;
        io::copy(&mut file, &mut io::sink()).map_err(at(path))?;
        Ok(())
    })
}

/// Puts a directory, and all files in it and below, on disk.
///
/// # Errors
/// [`BenchError::File`] when the disk refuses.
pub fn sync(directory: &Path) -> Result<(), BenchError> {
    let mut paths = below(directory)?;
    // A file's name is on disk when its directory is.
    let parents: Vec<PathBuf> = paths
        .iter()
        .filter_map(|path| path.parent().map(Path::to_owned))
        .collect();
    paths.extend(parents);
    paths.push(directory.to_owned());
    paths.sort();
    paths.dedup();
    paths.iter().try_for_each(|path| {
        let file = File::open(path).map_err(at(path))?;
        file.sync_all().map_err(at(path))
    })
}

/// Removes a directory with all that is in it, if it is there, and waits until the file system
/// has nothing more to write, so that the next run begins as this one did.
///
/// # Errors
/// [`BenchError::File`] when that fails.
pub fn remove(directory: &Path, on: &Path) -> Result<(), BenchError> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(at(directory)(error));
        }
        _ => {}
    }
    let file = File::open(on).map_err(at(on))?;
    rustix::fs::syncfs(file).map_err(|error| at(on)(error.into()))
}

/// Bytes that may still be written on the file system of a directory.
///
/// # Errors
/// [`BenchError::File`] when it cannot say.
pub fn free_bytes(directory: &Path) -> Result<u64, BenchError> {
    let found = rustix::fs::statvfs(directory).map_err(|error| at(directory)(error.into()))?;
    Ok(found.f_bavail * found.f_frsize)
}

/// An error of this path.
pub fn at(path: &Path) -> impl Fn(io::Error) -> BenchError {
    move |source| BenchError::File {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
