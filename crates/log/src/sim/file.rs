//! A file of the simulated disk.

use super::{SimDisk, SimState, image::Image};
use crate::disk::{DiskFile, PAGE};
use std::io;

/// A change that is not yet durable.
pub(crate) enum Pending {
    Write {
        /// Its place among the writes to all files.
        moment: u64,
        offset: u64,
        bytes: Vec<u8>,
    },
    SetLen(u64),
}

/// A file's contents.
#[derive(Default)]
pub(crate) struct Inode {
    /// As readers see them.
    pub seen: Image,
    /// As they are after a crash, without the pending changes.
    pub durable: Image,
    pub pending: Vec<Pending>,
}

impl Inode {
    fn sync(&mut self) {
        for change in self.pending.drain(..) {
            match change {
                Pending::Write { offset, bytes, .. } => self.durable.write_at(&bytes, offset),
                Pending::SetLen(len) => self.durable.set_len(len),
            }
        }
    }
}

/// A handle; it stops working when the disk crashes.
pub(crate) struct SimFile {
    disk: SimDisk,
    inode: u64,
    epoch: u64,
    /// As on real systems, only whole pages in aligned memory are read and written.
    direct: bool,
}

impl SimFile {
    pub(crate) fn new(disk: SimDisk, inode: u64, epoch: u64) -> SimFile {
        SimFile {
            disk,
            inode,
            epoch,
            direct: false,
        }
    }

    pub(crate) fn direct(disk: SimDisk, inode: u64, epoch: u64) -> SimFile {
        SimFile {
            direct: true,
            ..SimFile::new(disk, inode, epoch)
        }
    }

    fn check_aligned(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let aligned = bytes.as_ptr().addr().is_multiple_of(PAGE)
            && bytes.len().is_multiple_of(PAGE)
            && offset.is_multiple_of(PAGE as u64);
        if aligned || !self.direct {
            Ok(())
        } else {
            Err(io::ErrorKind::InvalidInput.into())
        }
    }

    fn with<T>(&self, f: impl FnOnce(&mut SimState, u64) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.disk.lock();
        if state.epoch != self.epoch {
            return Err(io::Error::other("opened before the simulated crash"));
        }
        f(&mut state, self.inode)
    }
}

impl SimState {
    fn inode(&mut self, number: u64) -> io::Result<&mut Inode> {
        self.inodes
            .get_mut(&number)
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Whether a file may grow to `len`.
    fn admit(&mut self, number: u64, len: u64) -> io::Result<()> {
        let growth = len.saturating_sub(self.inode(number)?.seen.len());
        match self.faults.capacity {
            Some(capacity) if growth > 0 && self.used() + growth > capacity => {
                Err(io::ErrorKind::StorageFull.into())
            }
            _ => Ok(()),
        }
    }

    fn resize(&mut self, number: u64, len: u64) -> io::Result<()> {
        self.faults.change()?;
        self.admit(number, len)?;
        let inode = self.inode(number)?;
        inode.seen.set_len(len);
        inode.pending.push(Pending::SetLen(len));
        Ok(())
    }
}

impl DiskFile for SimFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.check_aligned(buffer, offset)?;
        self.with(|state, inode| Ok(state.inode(inode)?.seen.read_at(buffer, offset)))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.check_aligned(bytes, offset)?;
        self.with(|state, inode| {
            state.faults.write()?;
            state.admit(inode, offset + bytes.len() as u64)?;
            state.writes += 1;
            let moment = state.writes;
            let inode = state.inode(inode)?;
            inode.seen.write_at(bytes, offset);
            inode.pending.push(Pending::Write {
                moment,
                offset,
                bytes: bytes.to_vec(),
            });
            Ok(())
        })
    }

    fn sync(&self) -> io::Result<()> {
        self.with(|state, inode| {
            // A failed sync drops what it should have written; a power failure has its own rules.
            let stopped = state.faults.stopped();
            let failed = state.faults.sync();
            let inode = state.inode(inode)?;
            if failed.is_err() {
                if !stopped {
                    inode.pending.clear();
                }
                return failed;
            }
            inode.sync();
            Ok(())
        })
    }

    fn len(&self) -> io::Result<u64> {
        self.with(|state, inode| Ok(state.inode(inode)?.seen.len()))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.with(|state, inode| state.resize(inode, len))
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.with(|state, inode| {
            if state.inode(inode)?.seen.len() >= len {
                return Ok(());
            }
            state.resize(inode, len)
        })
    }
}
