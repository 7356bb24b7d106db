//! Whether a file has changed: by what its directory entry says, not by reading keys again and again.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What is known of a file without reading it; symbolic links are followed. The time of change
/// (ctime) is among it, which nobody can set back: a file that was written twice within the same
/// second, or copied with its times, counts as new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Print {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// `None` for one that is not there.
pub(crate) fn print(path: &Path) -> Option<Print> {
    let found = path.metadata().ok()?;
    Some(Print {
        device: found.dev(),
        inode: found.ino(),
        bytes: found.len(),
        modified: (found.mtime(), found.mtime_nsec()),
        changed: (found.ctime(), found.ctime_nsec()),
    })
}
