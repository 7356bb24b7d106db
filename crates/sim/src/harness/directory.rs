//! A host's directory as a whole: its log's disk in memory, its stores in real files.

use std::path::Path;

use dunlin_log::sim::DiskCopy;
use dunlin_node::Starts;
use tempfile::TempDir;

use super::cluster::{HarnessError, broken, make_store_dir, temporary_dir};
use super::host::Host;

/// A copy of a stopped host's directory.
pub struct DirectoryCopy {
    /// The machine it was made on: files have its names.
    pub machine: usize,
    disk: DiskCopy,
    stores: TempDir,
    known: Starts,
}

impl Host {
    /// A copy of all the host has on its disk; its node must be down.
    ///
    /// # Errors
    /// When the copy cannot be made.
    pub fn copy_directory(&self) -> Result<DirectoryCopy, HarnessError> {
        let stores = temporary_dir().map_err(broken)?;
        copy_files(&self.data, stores.path()).map_err(broken)?;
        Ok(DirectoryCopy {
            machine: self.machine,
            disk: self.disk.copy(Path::new("/")),
            stores,
            known: self.known.get(),
        })
    }

    /// Puts a copy in the place of what the host has; its node must be down.
    ///
    /// # Errors
    /// When that cannot be done.
    pub fn put_back_directory(&self, copy: &DirectoryCopy) -> Result<(), HarnessError> {
        self.clear_stores()?;
        copy_files(copy.stores.path(), &self.data).map_err(broken)?;
        self.disk.put_back(&copy.disk);
        self.known.set(copy.known);
        Ok(())
    }

    /// Leaves the host with an empty disk; its node must be down.
    ///
    /// # Errors
    /// When its files cannot be removed.
    pub fn wipe_directory(&self) -> Result<(), HarnessError> {
        self.clear_stores()?;
        self.disk.wipe();
        self.known.set(Starts::default());
        self.shared.store.forget_cache(&self.name);
        for shard in 0..self.shared.plan.shards {
            make_store_dir(&self.data.join(format!("shard-{shard}"))).map_err(broken)?;
        }
        Ok(())
    }

    fn clear_stores(&self) -> Result<(), HarnessError> {
        self.flushed.borrow_mut().clear();
        remove(&self.data).map_err(broken)
    }

    /// Changes one byte of one of the host's tables, as a decaying disk does; its node must be down.
    /// False when it has none.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn rot(&self, choice: u64) -> Result<bool, HarnessError> {
        let mut tables = Vec::new();
        find_tables(&self.data, &mut tables).map_err(broken)?;
        tables.sort();
        if tables.is_empty() {
            return Ok(false);
        }
        let table = &tables[choice as usize % tables.len()];
        flip(table, choice >> 16).map_err(broken)?;
        Ok(true)
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "stores are on the real disk; only the log is on the simulated one"
)]
mod real {
    use std::fs;
    use std::io;
    use std::path::{Path, PathBuf};

    pub fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let target = to.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                copy_files(&entry.path(), &target)?;
            } else {
                fs::copy(entry.path(), target)?;
            }
        }
        Ok(())
    }

    pub fn remove(dir: &Path) -> io::Result<()> {
        match fs::remove_dir_all(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    pub fn find_tables(dir: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
        for entry in fs::read_dir(dir)? {
            let path = entry?.path();
            if path.is_dir() {
                find_tables(&path, found)?;
            } else if is_table(&path) {
                found.push(path);
            }
        }
        Ok(())
    }

    /// Not one that a store was about to take over: it is removed at the next start, and its name
    /// depends on what else the process has done.
    fn is_table(path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str());
        let number = name.and_then(|name| name.strip_suffix(".sst"));
        number.is_some_and(|number| number.parse::<u64>().is_ok())
    }

    pub fn flip(file: &Path, choice: u64) -> io::Result<()> {
        let mut bytes = fs::read(file)?;
        let length = bytes.len().max(1);
        if let Some(byte) = bytes.get_mut(choice as usize % length) {
            *byte ^= 0x10;
        }
        fs::write(file, bytes)
    }
}

use real::{copy_files, find_tables, flip, remove};
