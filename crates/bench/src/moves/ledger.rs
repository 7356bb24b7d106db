//! What every key must hold: so that an answer from before an acknowledged write shows.

use crate::load::key::{KEY_LENGTH, KeySet};
use crate::load::value::Values;

/// Keys, each with the writes it has had.
#[derive(Debug)]
pub struct Ledger {
    keys: KeySet,
    values: Values,
    slots: Vec<Slot>,
}

/// The writes of a key, numbered from 0.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    /// The last that was acknowledged.
    acknowledged: u32,
    /// The last that was sent.
    sent: u32,
    /// Whether one is under way: there is one at a time, or the last would not be known.
    is_writing: bool,
}

/// Keeps the numbers of the values of a key's writes apart from those of other keys' first ones.
const WRITE: u64 = 0x1_0000_0001;

impl Ledger {
    /// Keys that have had one write each, of a value as [`Values`] has for its number.
    pub fn new(keys: KeySet, values: Values, count: u64) -> Ledger {
        Ledger {
            keys,
            values,
            slots: vec![Slot::default(); usize::try_from(count).unwrap_or(usize::MAX)],
        }
    }

    /// How many keys there are.
    pub fn count(&self) -> u64 {
        self.slots.len() as u64
    }

    /// A key by its number.
    pub fn key(&self, number: u64) -> [u8; KEY_LENGTH] {
        self.keys.key(number)
    }

    /// Begins a write: its number; `None` while another is under way.
    pub fn begin_write(&mut self, number: u64) -> Option<u32> {
        let slot = self.slot_mut(number)?;
        if slot.is_writing {
            return None;
        }
        slot.is_writing = true;
        slot.sent += 1;
        Some(slot.sent)
    }

    /// Takes note of the end of a write. One that failed may still turn up.
    pub fn end_write(&mut self, number: u64, write: u32, is_acknowledged: bool) {
        if let Some(slot) = self.slot_mut(number) {
            slot.is_writing = false;
            if is_acknowledged {
                slot.acknowledged = write;
            }
        }
    }

    /// Appends the value of a write.
    pub fn append(&self, number: u64, write: u32, out: &mut Vec<u8>) {
        self.values
            .append(&self.key(number), value_of(number, write), out);
    }

    /// The write that a read which begins now must see at least.
    pub fn acknowledged(&self, number: u64) -> u32 {
        self.slot(number).acknowledged
    }

    /// Whether a read may answer this, that began when `least` was acknowledged.
    pub fn may_be(&self, number: u64, least: u32, value: &[u8]) -> bool {
        let key = self.key(number);
        let is = |write| self.values.matches(&key, value_of(number, write), value);
        (least..=self.slot(number).sent).any(is)
    }

    /// Number of the last acknowledged write of each key, added up: the overwrites there were.
    pub fn writes(&self) -> u64 {
        self.slots.iter().map(|s| u64::from(s.acknowledged)).sum()
    }

    fn slot(&self, number: u64) -> Slot {
        let at = usize::try_from(number).ok();
        at.and_then(|at| self.slots.get(at))
            .copied()
            .unwrap_or_default()
    }

    fn slot_mut(&mut self, number: u64) -> Option<&mut Slot> {
        self.slots.get_mut(usize::try_from(number).ok()?)
    }
}

fn value_of(number: u64, write: u32) -> u64 {
    number.wrapping_add(u64::from(write).wrapping_mul(WRITE))
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
