//! Copies of a disk: what a backup holds, and what is left when one is put back or nothing is.

use super::{SimDisk, file::Inode, image::Image};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// All files of a disk as readers saw them at some moment.
#[derive(Clone)]
pub struct DiskCopy(BTreeMap<PathBuf, Image>);

impl SimDisk {
    /// A copy of all files below `dir`.
    pub fn copy(&self, dir: &Path) -> DiskCopy {
        let state = self.lock();
        let files = state.names.all().filter(|(path, _)| path.starts_with(dir));
        DiskCopy(
            files
                .filter_map(|(path, inode)| {
                    Some((path.clone(), state.inodes.get(&inode)?.seen.clone()))
                })
                .collect(),
        )
    }

    /// Another disk takes the place of this one, with the files of `copy` on it, all durable.
    /// Handles opened before no longer work.
    pub fn put_back(&self, copy: &DiskCopy) {
        let mut state = self.lock();
        let state = &mut *state;
        state.epoch += 1;
        state.faults.restart();
        state.inodes.clear();
        let mut names = BTreeMap::new();
        for (path, image) in &copy.0 {
            names.insert(path.clone(), state.next_inode);
            let inode = Inode {
                seen: image.clone(),
                durable: image.clone(),
                pending: Vec::new(),
            };
            state.inodes.insert(state.next_inode, inode);
            state.next_inode += 1;
        }
        state.names.replace(names);
    }

    /// An empty disk takes the place of this one. Handles opened before no longer work.
    pub fn wipe(&self) {
        self.put_back(&DiskCopy(BTreeMap::new()));
    }
}
