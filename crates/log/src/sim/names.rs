//! The directory entries: as seen, and as durable. Changes of one directory become durable in
//! order, as a journaling file system does it.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

enum Change {
    Create(PathBuf, u64),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf),
}

impl Change {
    fn dir(&self) -> Option<&Path> {
        match self {
            Change::Create(path, _) | Change::Remove(path) | Change::Rename(path, _) => {
                path.parent()
            }
        }
    }

    fn apply(&self, entries: &mut BTreeMap<PathBuf, u64>) {
        match self {
            Change::Create(path, inode) => {
                entries.insert(path.clone(), *inode);
            }
            Change::Remove(path) => {
                entries.remove(path);
            }
            Change::Rename(from, to) => {
                if let Some(inode) = entries.remove(from) {
                    entries.insert(to.clone(), inode);
                }
            }
        }
    }
}

#[derive(Default)]
pub(crate) struct Names {
    seen: BTreeMap<PathBuf, u64>,
    durable: BTreeMap<PathBuf, u64>,
    pending: Vec<Change>,
}

impl Names {
    pub(crate) fn find(&self, path: &Path) -> Option<u64> {
        self.seen.get(path).copied()
    }

    pub(crate) fn inodes(&self) -> impl Iterator<Item = u64> {
        self.seen.values().copied()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&PathBuf, u64)> {
        self.seen.iter().map(|(path, inode)| (path, *inode))
    }

    /// These and no others, all durable.
    pub(crate) fn replace(&mut self, entries: BTreeMap<PathBuf, u64>) {
        self.seen = entries.clone();
        self.durable = entries;
        self.pending.clear();
    }

    pub(crate) fn list(&self, dir: &Path) -> Vec<String> {
        self.seen
            .keys()
            .filter(|path| path.parent() == Some(dir))
            .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
            .collect()
    }

    pub(crate) fn create(&mut self, path: &Path, inode: u64) {
        self.change(Change::Create(path.to_owned(), inode));
    }

    pub(crate) fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.known(path)?;
        self.change(Change::Remove(path.to_owned()));
        Ok(())
    }

    pub(crate) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.known(from)?;
        self.change(Change::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn known(&self, path: &Path) -> io::Result<()> {
        if self.seen.contains_key(path) {
            Ok(())
        } else {
            Err(io::ErrorKind::NotFound.into())
        }
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.seen);
        self.pending.push(change);
    }

    /// Makes the changes of a directory durable.
    pub(crate) fn sync(&mut self, dir: &Path) {
        let durable = &mut self.durable;
        self.pending.retain(|change| {
            let here = change.dir() == Some(dir);
            if here {
                change.apply(durable);
            }
            !here
        });
    }

    /// Keeps the first `kept(pending)` of the pending changes and forgets the rest.
    pub(crate) fn crash(&mut self, kept: impl FnOnce(u64) -> u64) {
        let kept = kept(self.pending.len() as u64) as usize;
        for change in self.pending.drain(..).take(kept) {
            change.apply(&mut self.durable);
        }
        self.seen = self.durable.clone();
    }
}
