//! The operating system's disk: the only place of this crate that touches `std::fs`.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the real implementation of `Disk`"
)]

use super::{DirectFile, Disk, DiskFile, PAGE};
use rustix::{
    buffer::spare_capacity,
    fs::{FallocateFlags, FsWord, OFlags, fallocate, statfs},
    io::{Errno, pread},
};
use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
    sync::Arc,
};

/// File systems in memory, by the number that `statfs` gives.
const TMPFS: FsWord = 0x0102_1994;
const RAMFS: FsWord = 0x8584_58f6;

/// The operating system's disk.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        // Remember which ancestors are new: each one's entry is made durable in its parent.
        let mut made = Vec::new();
        let mut at = Some(dir);
        while let Some(path) = at.filter(|path| !path.exists()) {
            made.push(path);
            at = path.parent();
        }
        fs::create_dir_all(dir)?;
        for path in made {
            if let Some(parent) = path.parent() {
                self.sync_dir(parent)?;
            }
        }
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            // A name that is not UTF-8 is none of ours.
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn open(&self, path: &Path, create: bool) -> io::Result<Arc<dyn DiskFile>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(create)
            .truncate(false)
            .open(path)?;
        Ok(Arc::new(RealFile {
            file,
            direct: false,
        }))
    }

    fn open_direct(&self, path: &Path) -> io::Result<Option<Arc<dyn DiskFile>>> {
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(OFlags::DIRECT.bits() as i32)
            .open(path)
            .and_then(|file| DirectFile::new(RealFile { file, direct: true }));
        match opened {
            Ok(file) => Ok(Some(Arc::new(file))),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        // The parent of a relative name of one part is written as nothing.
        let dir = if dir.as_os_str().is_empty() {
            Path::new(".")
        } else {
            dir
        };
        File::open(dir)?.sync_all()
    }

    fn is_memory(&self, dir: &Path) -> bool {
        statfs(dir).is_ok_and(|system| [TMPFS, RAMFS].contains(&system.f_type))
    }
}

struct RealFile {
    file: File,
    /// Opened with `O_DIRECT`: every read and write is of whole pages.
    direct: bool,
}

impl DiskFile for RealFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self
                .file
                .read_at(&mut buffer[filled..], offset + filled as u64)
            {
                Ok(0) => break,
                Ok(count) => {
                    filled += count;
                    // The end of the file: what follows could not be asked for.
                    if self.direct && count % PAGE != 0 {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn read_into(&self, buffer: &mut Vec<u8>, count: usize, offset: u64) -> io::Result<()> {
        buffer.clear();
        buffer.reserve_exact(count);
        while buffer.len() < count {
            let at = offset + buffer.len() as u64;
            match pread(&self.file, spare_capacity(buffer), at) {
                Ok(0) => break,
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        // Memory that was there may be more than was asked for.
        buffer.truncate(count);
        Ok(())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        loop {
            match fallocate(&self.file, FallocateFlags::empty(), 0, len) {
                Ok(()) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(Errno::OPNOTSUPP | Errno::NOSYS) if !self.direct => {
                    return self.write_zeros(len);
                }
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

impl RealFile {
    /// Reserves room where the file system knows no fallocate: by writing it.
    fn write_zeros(&self, len: u64) -> io::Result<()> {
        let zeros = vec![0; 256 << 10];
        let mut at = self.len()?;
        while at < len {
            let count = (len - at).min(zeros.len() as u64);
            self.file.write_all_at(&zeros[..count as usize], at)?;
            at += count;
        }
        Ok(())
    }
}
