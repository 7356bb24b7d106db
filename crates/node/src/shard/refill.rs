//! A shard that has lost what it once acknowledged, or never had it, does not
//! answer for keys before every replica has given it what it should hold: its
//! "absent" would count as knowledge. It takes writes like any other.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use dunlin_log::disk::Disk;
use dunlin_store::Vector;

use super::Shard;
use crate::placement::ShardAddress;
use crate::replication::address_of;

/// File in a shard's directory that says so over restarts.
pub const REFILL_FILE: &str = "refill";

/// Whether this shard is being filled, and up to where.
pub(super) struct Refill {
    pending: Cell<bool>,
    path: PathBuf,
    /// What each replica had of its own entries and of this shard's past when it was first heard.
    targets: RefCell<BTreeMap<ShardAddress, Vector>>,
}

impl Refill {
    /// Of the shard in `dir`; `begin` when it is found empty in a cluster with others.
    ///
    /// # Errors
    /// When the mark cannot be made: without it a restart would answer too early.
    pub fn open(disk: &dyn Disk, dir: &Path, begin: bool) -> io::Result<Refill> {
        let path = dir.join(REFILL_FILE);
        let found = disk
            .list(dir)
            .is_ok_and(|names| names.iter().any(|name| name == REFILL_FILE));
        if begin && !found {
            disk.open(&path, true)?.sync()?;
            disk.sync_dir(dir)?;
        }
        Ok(Refill {
            pending: Cell::new(begin || found),
            path,
            targets: RefCell::default(),
        })
    }
}

impl Shard {
    /// Whether reads must ask others.
    pub fn is_refilling(&self) -> bool {
        self.refill.pending.get()
    }

    /// Takes note of a replica's vector, and of the end of the refill if this shard has it all.
    pub(crate) fn refill_heard(&self, peer: ShardAddress, theirs: &Vector) {
        if !self.is_refilling() {
            return;
        }
        let mut targets = self.refill.targets.borrow_mut();
        targets.entry(peer).or_insert_with(|| {
            theirs
                .iter()
                .filter(|(origin, _)| {
                    let of = address_of(*origin);
                    of == peer || of == self.address && *origin != self.origin
                })
                .collect()
        });
        drop(targets);
        self.end_refill_if_whole();
    }

    /// Ends the refill when nothing is missing: at once where there is nobody to ask.
    pub(super) fn end_refill_if_whole(&self) {
        if !self.is_refilling() {
            return;
        }
        let targets = self.refill.targets.borrow();
        let peers = self.peers.borrow();
        let vector = self.vector.borrow();
        let whole = peers
            .values()
            .filter(|p| p.shares.get())
            .all(|p| targets.get(&p.address).is_some_and(|t| vector.covers(t)));
        if whole {
            self.refill.pending.set(false);
            tracing::info!("every replica has given what this shard should hold");
            if let Err(error) = self.env.disk.remove(&self.refill.path) {
                // Only the next start is the slower for it.
                tracing::warn!(%error, "the refill mark stays");
            }
        }
    }
}
