//! What the log needs of a disk. Blocking; all paths are absolute. One real implementation, and
//! one simulated in [`crate::sim`].

mod direct;
mod real;

pub(crate) use direct::{DirectFile, PAGE};
pub use real::RealDisk;

use crate::error::Lack;
use rustix::io::Errno;
use std::{io, path::Path, sync::Arc};

/// A directory tree.
pub trait Disk: Send + Sync + 'static {
    /// Creates the directory and those above it; durable when this returns.
    ///
    /// # Errors
    /// What the operating system says.
    fn create_dir_all(&self, dir: &Path) -> io::Result<()>;
    /// Names of the entries of a directory, in no order.
    ///
    /// # Errors
    /// What the operating system says.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;
    /// Opens a file for reading and writing; `create` makes it when it is not there.
    ///
    /// # Errors
    /// `NotFound` when it is not there and `create` is false; else what the operating system says.
    fn open(&self, path: &Path, create: bool) -> io::Result<Arc<dyn DiskFile>>;
    /// Opens an existing file for writing in order past the page cache; none when the file system
    /// does not allow that. What stands behind a write, up to the next multiple of 4 KiB, becomes
    /// zero.
    ///
    /// # Errors
    /// `NotFound` when it is not there; else what the operating system says.
    fn open_direct(&self, path: &Path) -> io::Result<Option<Arc<dyn DiskFile>>>;
    /// Removes a file. Durable after `sync_dir`.
    ///
    /// # Errors
    /// What the operating system says.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Renames a file, replacing the target. Durable after `sync_dir`.
    ///
    /// # Errors
    /// What the operating system says.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Makes creations, renames and removals in a directory durable.
    ///
    /// # Errors
    /// What the operating system says.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Whether files of a directory are in memory, so that writing and syncing them never waits.
    fn is_memory(&self, _dir: &Path) -> bool {
        false
    }
}

/// An open file.
#[expect(
    clippy::len_without_is_empty,
    reason = "a file's emptiness is never asked for"
)]
pub trait DiskFile: Send + Sync {
    /// Reads at an offset; returns the bytes read, fewer than asked for only at the end.
    ///
    /// # Errors
    /// What the operating system says.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Reads `count` bytes at an offset in place of what `buffer` holds, fewer only at the end.
    /// New memory need not be zeroed first.
    ///
    /// # Errors
    /// What the operating system says; what the buffer holds then means nothing.
    fn read_into(&self, buffer: &mut Vec<u8>, count: usize, offset: u64) -> io::Result<()> {
        buffer.resize(count, 0);
        let read = self.read_at(buffer, offset)?;
        buffer.truncate(read);
        Ok(())
    }
    /// Writes all bytes at an offset.
    ///
    /// # Errors
    /// What the operating system says; some of the bytes may have been written then.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Makes all that was written, and the length, durable (fdatasync).
    ///
    /// # Errors
    /// What the operating system says; nothing is known about unsynced bytes then.
    fn sync(&self) -> io::Result<()>;
    /// Length in bytes.
    ///
    /// # Errors
    /// What the operating system says.
    fn len(&self) -> io::Result<u64>;
    /// Cuts or extends (with zeros) to a length in bytes.
    ///
    /// # Errors
    /// What the operating system says.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Reserves room so that the file is at least `len` bytes long, new bytes being zero.
    ///
    /// # Errors
    /// `StorageFull` when there is no room; else what the operating system says.
    fn allocate(&self, len: u64) -> io::Result<()>;
}

/// What an error says there is too little of, if that is all it says: nothing was done, and it can be
/// done again once there is more.
pub(crate) fn lack(error: &io::Error) -> Option<Lack> {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(Lack::Space),
        _ if is_out_of_files(error) => Some(Lack::Files),
        _ => None,
    }
}

/// Whether the process, or the system, has no file descriptor left: a thing that passes.
pub(crate) fn is_out_of_files(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE))
}
