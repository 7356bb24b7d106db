//! A power loss.

use super::{
    SimDisk,
    file::{Inode, Pending},
    image::{SECTOR, pieces},
    random::Random,
};
use std::collections::{BTreeMap, BTreeSet};

/// What happens to a file's unsynced writes.
#[derive(Clone, Copy)]
enum Fate {
    /// All are lost.
    Lost,
    /// All arrived.
    Kept,
    /// They arrived up to one of them.
    Prefix,
    /// Each sector holds what some moment left there.
    Torn,
}

impl SimDisk {
    /// Loses power: what was synced stays; of the rest, the seed decides for each file what was
    /// lost, kept, torn at sector boundaries or reordered, and how many of the latest creations,
    /// renames and removals happened. Handles opened before no longer work.
    pub fn crash(&self) {
        let mut state = self.lock();
        let state = &mut *state;
        state.epoch += 1;
        state.faults.restart();
        let random = &mut state.random;
        state.names.crash(|pending| random.below(pending + 1));
        for inode in state.inodes.values_mut() {
            lose(inode, random);
        }
        let named: BTreeSet<u64> = state.names.inodes().collect();
        state.inodes.retain(|inode, _| named.contains(inode));
    }
}

fn lose(inode: &mut Inode, random: &mut Random) {
    let pending = std::mem::take(&mut inode.pending);
    let count = pending.len() as u64;
    let fate = match random.below(8) {
        0 => Fate::Lost,
        1 => Fate::Kept,
        2 | 3 => Fate::Prefix,
        _ => Fate::Torn,
    };
    let reached = match fate {
        Fate::Lost => 0,
        Fate::Kept => count,
        Fate::Prefix | Fate::Torn => random.below(count + 1),
    };
    // In a torn file the length is what one moment left, each sector what another one left.
    let mut sectors: BTreeMap<u64, u64> = BTreeMap::new();
    let mut len = inode.durable.len();
    for (moment, change) in (0..).zip(&pending) {
        match change {
            Pending::Write { offset, bytes } => {
                for (at, piece) in pieces(bytes, *offset) {
                    let kept = match fate {
                        Fate::Torn => *sectors
                            .entry(at / SECTOR)
                            .or_insert_with(|| random.below(count + 1)),
                        _ => reached,
                    };
                    if moment < kept {
                        inode.durable.write_at(piece, at);
                        len = len.max(at + piece.len() as u64);
                    }
                }
            }
            Pending::SetLen(to) if moment < reached => {
                inode.durable.set_len(*to);
                len = *to;
            }
            Pending::SetLen(_) => {}
        }
    }
    inode.durable.set_len(len);
    inode.seen = inode.durable.clone();
}
