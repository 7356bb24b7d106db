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
    match dunlin(directory)? {
        found if found.is_empty() => Err(none(directory)),
        found => Ok(found),
    }
}

fn none(directory: &Path) -> Failure {
    Failure::NotFound(format!("no log in {}", directory.display()))
}

fn dunlin(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    search(directory, DEPTH, &mut |directory, names| {
        if names.iter().any(|name| is_segment(name)) {
            found.push(directory.to_owned());
        }
    })
    .map_err(|error| Failure::file(directory, &error))?;
    found.sort();
    Ok(found)
}

/// What a path stands for.
pub enum Target {
    /// A file, whatever is in it.
    File(PathBuf),
    /// A directory of Dunlin's segments.
    Log(PathBuf),
    /// A log file found in a directory of RocksDB's.
    RocksDb(PathBuf),
}

/// The logs a path stands for: itself, or those in or below it. Where Dunlin keeps a log beside a
/// RocksDB, that has none of its own.
pub fn targets(path: &Path) -> Result<Vec<Target>, Failure> {
    if !path.is_dir() {
        return Ok(vec![Target::File(path.to_owned())]);
    }
    let logs = dunlin(path)?;
    if !logs.is_empty() {
        return Ok(logs.into_iter().map(Target::Log).collect());
    }
    let mut found = Vec::new();
    search(path, DEPTH, &mut |directory, names| {
        let files = names
            .iter()
            .filter(|name| number(Path::new(name)).is_some());
        found.extend(files.map(|name| directory.join(name)));
    })
    .map_err(|error| Failure::file(path, &error))?;
    // Numbers outgrow their six digits.
    found.sort_by_key(|file| (file.parent().map(Path::to_owned), number(file)));
    if found.is_empty() {
        Err(none(path))
    } else {
        Ok(found.into_iter().map(Target::RocksDb).collect())
    }
}

/// The segments of a log's directory, in order.
pub fn segments(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    search(directory, 0, &mut |directory, names| {
        let segments = names.iter().filter(|name| is_segment(name));
        found.extend(segments.map(|name| directory.join(name)));
    })
    .map_err(|error| Failure::file(directory, &error))?;
    found.sort();
    Ok(found)
}

/// The number a log file is named by: its name is that and `.log`.
pub fn number(file: &Path) -> Option<u64> {
    let digits = file.file_name()?.to_str()?.strip_suffix(".log")?;
    let all_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| digits.parse().ok()).flatten()
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
