//! Sums of stretches of an index, kept in memory: a total reads these, and of the index only the stretches that
//! changed and the two ends. A stretch begins and ends at rows that their own bytes choose, some hundreds apart.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::hash::hash_of;
use crate::reduce::Aggregate;

/// A stretch has so many rows, on average.
const ROWS: u64 = if cfg!(test) { 4 } else { 512 };
/// Sums of one index take no more memory.
const BYTES_MAX: usize = 16 << 20;
/// A sum takes so much beside its keys.
const BLOCK_BYTES: usize = 256;
/// Changes are remembered up to so many, for sums that are being made meanwhile.
const RECENT_MAX: usize = 8_192;
/// After so many changes without a reader nothing is kept.
const UNREAD_MAX: u64 = 1_000_000;

/// The sums of one index.
#[derive(Default)]
pub(crate) struct Blocks(Mutex<State>);

#[derive(Default)]
struct State {
    is_used: bool,
    /// The number of the last write.
    last: u64,
    /// Sums of a state before this write are not taken in: changes since are not remembered.
    floor: u64,
    /// Keys that changed, and the last write that did it.
    recent: BTreeMap<Vec<u8>, u64>,
    unread: u64,
    bytes: usize,
    /// By partitions, and where they begin.
    all: BTreeMap<(u64, Vec<u8>), Arc<Block>>,
    /// The partitions that there are sums of.
    sets: Vec<u64>,
}

/// The sum of a stretch.
pub(crate) struct Block {
    /// Its last row.
    pub last: Vec<u8>,
    /// The row behind it.
    pub end: Vec<u8>,
    pub sum: Aggregate,
    /// The write after which it was read.
    at: u64,
}

/// Whether a stretch begins at a key.
pub(crate) fn is_edge(key: &[u8]) -> bool {
    hash_of(&[key]).is_multiple_of(ROWS)
}

/// The name of some partitions.
pub(crate) fn set_of(partitions: &[u16]) -> u64 {
    let bytes: Vec<u8> = partitions.iter().flat_map(|p| p.to_le_bytes()).collect();
    hash_of(&[&bytes])
}

impl Blocks {
    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the writer is to name changed keys.
    pub fn is_used(&self) -> bool {
        self.with(|state| state.is_used)
    }

    /// To be called before a write, with the keys that it changes; `None` where they were not collected.
    pub fn change(&self, write: u64, keys: Option<&[Vec<u8>]>) {
        self.with(|state| state.change(write, keys));
    }

    /// To be called by a reader before it looks for sums.
    pub fn begin(&self) {
        self.with(|state| {
            state.unread = 0;
            if !state.is_used {
                state.is_used = true;
                state.floor = state.last;
            }
        });
    }

    /// The sum of the stretch that begins at a key, for a reader of the state after a write.
    pub fn get(&self, set: u64, begin: &[u8], write: u64) -> Option<Arc<Block>> {
        self.with(|state| {
            let block = state.all.get(&(set, begin.to_vec()))?;
            (block.at <= write).then(|| block.clone())
        })
    }

    /// Takes a sum in that was made of the state after a write, unless the stretch has changed since.
    pub fn put(
        &self,
        set: u64,
        begin: Vec<u8>,
        stretch: (Vec<u8>, Vec<u8>),
        sum: Aggregate,
        write: u64,
    ) {
        let (last, end) = stretch;
        let block = Block {
            last,
            end,
            sum,
            at: write,
        };
        self.with(|state| state.put(set, begin, block));
    }
}

impl State {
    fn change(&mut self, write: u64, keys: Option<&[Vec<u8>]>) {
        self.last = write;
        let Some(keys) = keys.filter(|_| self.is_used) else {
            if self.is_used {
                self.clear();
                self.floor = write;
            }
            return;
        };
        self.unread += keys.len() as u64;
        if self.unread > UNREAD_MAX {
            self.clear();
            self.is_used = false;
            return;
        }
        for key in keys {
            for n in 0..self.sets.len() {
                self.drop_around(self.sets[n], key);
            }
            self.recent.insert(key.clone(), write);
        }
        if self.recent.len() > RECENT_MAX {
            self.recent.clear();
            self.floor = write;
        }
    }

    fn drop_around(&mut self, set: u64, key: &[u8]) {
        let to = (set, key.to_vec());
        let before = self.all.range((set, Vec::new())..=to).next_back();
        let around = before.filter(|(_, block)| *key < *block.end);
        if let Some(at) = around.map(|(at, _)| at.clone()) {
            self.remove(&at);
        }
    }

    fn remove(&mut self, at: &(u64, Vec<u8>)) {
        if let Some(block) = self.all.remove(at) {
            self.bytes -= bytes_of(&at.1, &block);
        }
    }

    fn put(&mut self, set: u64, begin: Vec<u8>, block: Block) {
        let stretch = begin.clone()..block.end.clone();
        let has_changed = self
            .recent
            .range(stretch)
            .any(|(_, write)| *write > block.at);
        if !self.is_used || block.at < self.floor || has_changed {
            return;
        }
        if self.bytes > BYTES_MAX {
            self.clear();
        }
        if !self.sets.contains(&set) {
            self.sets.push(set);
        }
        let at = (set, begin);
        self.remove(&at);
        self.bytes += bytes_of(&at.1, &block);
        self.all.insert(at, Arc::new(block));
    }

    fn clear(&mut self) {
        self.all.clear();
        self.sets.clear();
        self.recent.clear();
        self.bytes = 0;
    }
}

fn bytes_of(begin: &[u8], block: &Block) -> usize {
    let keys = begin.len() + block.last.len() + block.end.len();
    keys + block.sum.parts.iter().map(|part| part.len()).sum::<usize>() + BLOCK_BYTES
}

#[cfg(test)]
#[path = "blocks_tests.rs"]
mod tests;
