//! How far a copy has come, in the file `fill` of the shard's directory (formats, section 3).

use std::io;
use std::path::Path;

use dunlin_log::disk::Disk;
use serde::{Deserialize, Serialize};

use dunlin_proto::ShardAddress;

const FILE: &str = "fill";
const NEXT_FILE: &str = "fill.next";

/// Contents of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Journal {
    /// Number of the change.
    pub change: u64,
    /// From whom.
    pub sources: Vec<SourceNote>,
}

/// What is known of one old replica.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SourceNote {
    pub node: u16,
    pub shard: u16,
    /// From where its log is still needed.
    pub begin: u64,
    /// Its start for which that holds; 0 from a build that did not note it.
    pub incarnation: u32,
    /// What is done, or begun.
    pub parts: Vec<PartNote>,
}

/// How far one partition has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PartNote {
    pub keyspace: u32,
    pub partition: u16,
    /// Which records, as in [`dunlin_proto::Froms`].
    pub froms: u64,
    /// First key not copied yet; absent when all are.
    pub next: Option<Vec<u8>>,
}

impl SourceNote {
    pub fn address(&self) -> ShardAddress {
        ShardAddress {
            node: self.node,
            shard: self.shard,
        }
    }
}

impl Journal {
    /// What the directory's file says; `None` without one, or when it makes no sense: then the copy
    /// begins anew, which is only slower.
    pub fn load(disk: &dyn Disk, dir: &Path) -> Option<Journal> {
        let file = disk.open(&dir.join(FILE), false).ok()?;
        let mut bytes = Vec::new();
        let length = usize::try_from(file.len().ok()?).ok()?;
        file.read_into(&mut bytes, length, 0).ok()?;
        serde_json::from_slice(&bytes)
            .inspect_err(|error| tracing::warn!(%error, "a copy's journal is not read"))
            .ok()
    }

    /// Replaces the file.
    ///
    /// # Errors
    /// What the disk says.
    pub fn store(&self, disk: &dyn Disk, dir: &Path) -> io::Result<()> {
        let next = dir.join(NEXT_FILE);
        let file = disk.open(&next, true)?;
        file.set_len(0)?;
        file.write_at(&serde_json::to_vec(self)?, 0)?;
        file.sync()?;
        disk.rename(&next, &dir.join(FILE))?;
        disk.sync_dir(dir)
    }

    /// Removes the file, if there is one.
    ///
    /// # Errors
    /// What the disk says.
    pub fn remove(disk: &dyn Disk, dir: &Path) -> io::Result<()> {
        match disk.remove(&dir.join(FILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.and_then(|()| disk.sync_dir(dir)),
        }
    }
}
