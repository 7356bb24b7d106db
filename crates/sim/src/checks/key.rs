//! What happened to one key.

use super::lost;
use crate::history::{History, Place, Read, Write};
use crate::plan::Plan;

/// All writes and reads of a key.
pub struct KeyHistory<'a> {
    pub place: Place,
    /// Each with whether the faults of the run may have taken it.
    pub writes: Vec<(&'a Write, bool)>,
    pub reads: Vec<&'a Read>,
}

impl<'a> KeyHistory<'a> {
    /// The keys of a keyspace.
    pub fn all(plan: &Plan, history: &'a History, keyspace: usize) -> Vec<KeyHistory<'a>> {
        let mut keys: Vec<KeyHistory> = (0..plan.keys)
            .map(|key| KeyHistory {
                place: (keyspace, key),
                writes: Vec::new(),
                reads: Vec::new(),
            })
            .collect();
        for write in history.writes.iter().filter(|w| w.place.0 == keyspace) {
            let may_be_lost = lost::may_be_lost(plan, history, write);
            keys[write.place.1 as usize]
                .writes
                .push((write, may_be_lost));
        }
        for read in history.reads.iter().filter(|r| r.place.0 == keyspace) {
            keys[read.place.1 as usize].reads.push(read);
        }
        keys
    }

    /// Whether a fault may have taken any of its acknowledged writes.
    pub fn may_miss(&self) -> bool {
        self.writes.iter().any(|(_, may_be_lost)| *may_be_lost)
    }
}
