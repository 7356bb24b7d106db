//! Which writes are done: pure bookkeeping of cumulative acknowledgements.

use std::collections::VecDeque;

use dunlin_entry::Version;

/// Index of a replica in a shard's books; 0 is the shard itself.
pub type Slot = u8;

/// Most replicas a shard can keep books on.
pub const SLOTS: usize = 64;

/// Which replicas must acknowledge a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// How many of each set.
    pub ack: u8,
    /// The replicas, a bit each.
    pub replicas: u64,
    /// A second set, while the replicas change from one to another; else no bit. One with fewer
    /// than `ack` replicas must acknowledge as a whole.
    pub also: u64,
    /// Nobody but the shard itself stores anything of the partition, whoever is asked.
    pub is_alone: bool,
}

impl Needs {
    fn met(&self, acked: u64) -> bool {
        let enough = |set: u64, ack: u32| (acked & set).count_ones() >= ack;
        let ack = u32::from(self.ack);
        enough(self.replicas, ack) && enough(self.also, ack.min(self.also.count_ones()))
    }
}

struct Pending<T> {
    version: Version,
    needs: Needs,
    acked: u64,
    /// Replicas that have it, or will, without its counting.
    refused: u64,
    payload: Option<T>,
}

impl<T> Pending<T> {
    fn got(&self) -> u8 {
        (self.acked & self.needs.replicas).count_ones() as u8
    }
}

/// Own writes that wait for replicas, in order of their versions.
pub struct AckTracker<T> {
    pending: VecDeque<Pending<T>>,
    acked: [Version; SLOTS],
    /// What each replica said last of where its word begins to count.
    unsure: [Version; SLOTS],
}

impl<T> Default for AckTracker<T> {
    fn default() -> Self {
        AckTracker {
            pending: VecDeque::new(),
            acked: [Version(0); SLOTS],
            unsure: [Version(0); SLOTS],
        }
    }
}

impl<T> AckTracker<T> {
    /// Adds a write that is done once enough replicas have acknowledged its version. Versions must
    /// grow from call to call.
    pub fn register(&mut self, version: Version, needs: Needs, payload: T) {
        debug_assert!(
            self.pending
                .back()
                .is_none_or(|last| last.version < version)
        );
        self.pending.push_back(Pending {
            version,
            needs,
            acked: 0,
            refused: 0,
            payload: Some(payload),
        });
    }

    /// Notes that `slot` has everything up to `up_to`; passes each write this completes to `done`.
    /// What is stamped at or below `unsure` does not count: the replica stores it, but cannot say
    /// that it never acknowledged anything newer (decision 22).
    pub fn acknowledge(
        &mut self,
        slot: Slot,
        up_to: Version,
        unsure: Version,
        mut done: impl FnMut(Version, T),
    ) {
        let at = slot as usize;
        let (Some(acked), Some(was_unsure)) = (self.acked.get_mut(at), self.unsure.get_mut(at))
        else {
            return;
        };
        let was_unsure = std::mem::replace(was_unsure, unsure);
        // What did not count before may do so now, as far as this answer speaks of it: one from the
        // replica's next life says nothing yet of what it is sent again.
        let (after, now) = match unsure < was_unsure {
            true => (unsure.min(*acked), up_to),
            false => (*acked, up_to.max(*acked)),
        };
        *acked = now;
        if up_to <= after {
            return;
        }
        let start = self.pending.partition_point(|p| p.version <= after);
        for pending in self.pending.range_mut(start..) {
            if pending.version > up_to {
                break;
            }
            if pending.version <= unsure && !(slot == 0 && pending.needs.is_alone) {
                continue;
            }
            pending.acked |= (1 << slot) & !pending.refused;
            if pending.needs.met(pending.acked)
                && let Some(payload) = pending.payload.take()
            {
                done(pending.version, payload);
            }
        }
        self.trim();
    }

    /// Notes that `slot` will have the write `version` without its counting. Takes the write off the
    /// books, with the number of replicas it has, when too few are left for it to be done.
    pub fn refuse(&mut self, slot: Slot, version: Version) -> Option<(u8, T)> {
        let at = self
            .pending
            .binary_search_by_key(&version, |p| p.version)
            .ok()?;
        let pending = self.pending.get_mut(at)?;
        // What counted once does so for good.
        pending.refused |= (1 << slot) & !pending.acked;
        if pending.needs.met(!pending.refused) {
            return None;
        }
        let got = pending.got();
        let payload = pending.payload.take().map(|payload| (got, payload));
        self.trim();
        payload
    }

    /// Takes a write off the books, as when it is to be stamped again.
    pub fn take(&mut self, version: Version) -> Option<T> {
        let at = self
            .pending
            .binary_search_by_key(&version, |p| p.version)
            .ok()?;
        let payload = self.pending.get_mut(at)?.payload.take();
        self.trim();
        payload
    }

    /// Takes all writes off the books, with the number of replicas each has.
    pub fn take_all(&mut self) -> Vec<(u8, T)> {
        self.pending
            .drain(..)
            .filter_map(|p| {
                let got = p.got();
                p.payload.map(|payload| (got, payload))
            })
            .collect()
    }

    /// Takes writes off that `expired` says nobody waits for any more.
    pub fn expire(&mut self, mut expired: impl FnMut(&T) -> bool) -> Vec<(u8, T)> {
        let mut taken = Vec::new();
        for pending in &mut self.pending {
            if pending.payload.as_ref().is_some_and(&mut expired)
                && let Some(payload) = pending.payload.take()
            {
                taken.push((pending.got(), payload));
            }
        }
        self.trim();
        taken
    }

    /// Version of the oldest write on the books.
    pub fn oldest(&self) -> Option<Version> {
        self.pending.front().map(|p| p.version)
    }

    /// Writes on the books.
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    fn trim(&mut self) {
        while self.pending.front().is_some_and(|p| p.payload.is_none()) {
            self.pending.pop_front();
        }
    }
}

#[cfg(test)]
#[path = "acks_tests.rs"]
mod tests;
