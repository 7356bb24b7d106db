//! A simulated disk: in memory, seeded, deterministic. It keeps what has been synced apart from
//! what has not; a crash loses, tears (at 512-byte sectors) and reorders the latter, within a file
//! and over several.

mod copy;
mod crash;
mod faults;
mod file;
mod image;
mod names;
mod random;

pub use copy::DiskCopy;
pub use crash::Lost;

use crate::disk::{DirectFile, Disk, DiskFile};
use faults::Faults;
use file::{Inode, SimFile};
use names::Names;
use random::Random;
use std::{
    collections::BTreeMap,
    io,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A simulated disk. Clones are the same disk.
#[derive(Clone)]
pub struct SimDisk {
    state: Arc<Mutex<SimState>>,
}

pub(crate) struct SimState {
    random: Random,
    names: Names,
    inodes: BTreeMap<u64, Inode>,
    next_inode: u64,
    /// Writes so far.
    writes: u64,
    /// Grows at every crash: handles opened before it no longer work.
    epoch: u64,
    faults: Faults,
    /// Whether files may be opened for direct I/O.
    direct: bool,
}

impl SimDisk {
    /// An empty disk whose crashes are decided by `seed`.
    pub fn new(seed: u64) -> SimDisk {
        SimDisk {
            state: Arc::new(Mutex::new(SimState {
                random: Random::new(seed),
                names: Names::default(),
                inodes: BTreeMap::new(),
                next_inode: 1,
                writes: 0,
                epoch: 0,
                faults: Faults::default(),
                direct: true,
            })),
        }
    }

    fn lock(&self) -> MutexGuard<'_, SimState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All bytes of a file as a reader sees them now; none when it is not there.
    pub fn contents(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.lock();
        let inode = state.inodes.get(&state.names.find(path)?)?;
        let mut bytes = vec![0; inode.seen.len() as usize];
        inode.seen.read_at(&mut bytes, 0);
        Some(bytes)
    }

    /// Whether the file system allows direct I/O from now on; a new one does.
    pub fn allow_direct(&self, allowed: bool) {
        self.lock().direct = allowed;
    }

    /// Bytes all files take, as far as `set_capacity` counts them.
    pub fn used_bytes(&self) -> u64 {
        self.lock().used()
    }
}

impl SimState {
    pub(crate) fn used(&self) -> u64 {
        self.names
            .inodes()
            .filter_map(|inode| self.inodes.get(&inode))
            .map(|inode| inode.seen.len())
            .sum()
    }
}

impl Disk for SimDisk {
    fn create_dir_all(&self, _dir: &Path) -> io::Result<()> {
        // Directories are where files are; there is nothing to lose.
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        Ok(self.lock().names.list(dir))
    }

    fn open(&self, path: &Path, create: bool) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.lock();
        state.faults.open()?;
        let inode = match state.names.find(path) {
            Some(inode) => inode,
            None if create => {
                state.faults.change()?;
                let inode = state.next_inode;
                state.next_inode += 1;
                state.inodes.insert(inode, Inode::default());
                state.names.create(path, inode);
                inode
            }
            None => return Err(io::ErrorKind::NotFound.into()),
        };
        let epoch = state.epoch;
        Ok(Arc::new(SimFile::new(self.clone(), inode, epoch)))
    }

    fn open_direct(&self, path: &Path) -> io::Result<Option<Arc<dyn DiskFile>>> {
        let file = {
            let state = self.lock();
            state.faults.open()?;
            if !state.direct {
                return Ok(None);
            }
            let inode = state.names.find(path).ok_or(io::ErrorKind::NotFound)?;
            SimFile::direct(self.clone(), inode, state.epoch)
        };
        Ok(Some(Arc::new(DirectFile::new(file)?)))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.faults.change()?;
        state.names.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.lock();
        state.faults.change()?;
        state.names.rename(from, to)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.lock();
        // It is opened for that.
        state.faults.open()?;
        state.faults.sync()?;
        state.names.sync(dir);
        Ok(())
    }
}

#[cfg(test)]
#[path = "sim_tests.rs"]
mod tests;
