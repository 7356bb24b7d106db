//! A power loss.

use super::{
    SimDisk,
    file::{Inode, Pending},
    image::{SECTOR, pieces},
    random::Random,
};
use std::collections::{BTreeMap, BTreeSet};

/// What an operating system writes back at once, in sectors.
const PAGE_SECTORS: u64 = 8;

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
    /// Each page was written back as it was last, or not at all, in whatever order.
    Pages,
}

/// What a power loss did to writes that were not synced: proof that it does what it is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lost {
    /// Writes of which something was lost.
    pub writes: u64,
    /// Files in which something arrived that was written after something that was lost.
    pub reordered_files: u64,
    /// Pairs of files of which that is so: lost in one, arrived in the other.
    pub reordered_pairs: u64,
}

/// What became of one file.
#[derive(Default)]
struct Outcome {
    writes_lost: u64,
    /// The first write of which something was lost.
    lost: Option<u64>,
    /// The last write of which something arrived.
    arrived: Option<u64>,
}

impl Outcome {
    /// Whether something arrived there that was written after something that was lost here.
    fn is_overtaken_by(&self, other: &Outcome) -> bool {
        matches!((self.lost, other.arrived), (Some(lost), Some(arrived)) if lost < arrived)
    }
}

impl SimDisk {
    /// Loses power: what was synced stays; of the rest, the seed decides for each file what was
    /// lost, kept, torn at sector boundaries or reordered, and how many of the latest creations,
    /// renames and removals happened. Handles opened before no longer work.
    pub fn crash(&self) -> Lost {
        self.lose_power(|random| match random.below(8) {
            0 => Fate::Lost,
            1 => Fate::Kept,
            2 | 3 => Fate::Prefix,
            4 | 5 => Fate::Torn,
            _ => Fate::Pages,
        })
    }

    /// Loses power, and all that was not synced: nothing of it had left the cache.
    pub fn black_out(&self) -> Lost {
        self.lose_power(|_| Fate::Lost)
    }

    fn lose_power(&self, fate: impl Fn(&mut Random) -> Fate) -> Lost {
        let mut state = self.lock();
        let state = &mut *state;
        state.epoch += 1;
        state.faults.restart();
        let random = &mut state.random;
        state.names.crash(|pending| random.below(pending + 1));
        let inodes = state.inodes.values_mut();
        let outcomes: Vec<Outcome> = inodes
            .map(|inode| {
                let fate = fate(random);
                lose(inode, fate, random)
            })
            .collect();
        let named: BTreeSet<u64> = state.names.inodes().collect();
        state.inodes.retain(|inode, _| named.contains(inode));
        let overtaken = |outcome: &Outcome| {
            outcomes
                .iter()
                .filter(|other| outcome.is_overtaken_by(other))
                .count() as u64
        };
        let reordered_files = outcomes.iter().filter(|it| it.is_overtaken_by(it)).count() as u64;
        Lost {
            writes: outcomes.iter().map(|outcome| outcome.writes_lost).sum(),
            reordered_files,
            reordered_pairs: outcomes.iter().map(overtaken).sum::<u64>() - reordered_files,
        }
    }
}

fn lose(inode: &mut Inode, fate: Fate, random: &mut Random) -> Outcome {
    let pending = std::mem::take(&mut inode.pending);
    let count = pending.len() as u64;
    let reached = match fate {
        Fate::Lost => 0,
        Fate::Kept => count,
        Fate::Prefix | Fate::Torn | Fate::Pages => random.below(count + 1),
    };
    let mut outcome = Outcome::default();
    // In a torn file the length is what one moment left, each sector or page what another one left.
    let mut kept_of: BTreeMap<u64, u64> = BTreeMap::new();
    let mut len = inode.durable.len();
    for (place, change) in (0..).zip(&pending) {
        match change {
            Pending::Write {
                moment,
                offset,
                bytes,
            } => {
                let mut lost = false;
                for (at, piece) in pieces(bytes, *offset) {
                    let sector = at / SECTOR;
                    let kept = match fate {
                        Fate::Torn => *kept_of
                            .entry(sector)
                            .or_insert_with(|| random.below(count + 1)),
                        Fate::Pages => *kept_of
                            .entry(sector / PAGE_SECTORS)
                            .or_insert_with(|| random.below(2) * count),
                        _ => reached,
                    };
                    if place < kept {
                        inode.durable.write_at(piece, at);
                        len = len.max(at + piece.len() as u64);
                        outcome.arrived = Some(*moment);
                    } else {
                        lost = true;
                    }
                }
                if lost {
                    outcome.writes_lost += 1;
                    outcome.lost.get_or_insert(*moment);
                }
            }
            Pending::SetLen(to) if place < reached => {
                inode.durable.set_len(*to);
                len = *to;
            }
            Pending::SetLen(_) => {}
        }
    }
    inode.durable.set_len(len);
    inode.seen = inode.durable.clone();
    outcome
}
