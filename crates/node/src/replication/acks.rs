//! Which writes are done: pure bookkeeping of cumulative acknowledgements.

use std::collections::VecDeque;

use dunlin_store::Version;

/// Index of a replica in a shard's books; 0 is the shard itself.
pub type Slot = u8;

/// Most replicas a shard can keep books on.
pub const SLOTS: usize = 64;

struct Pending<T> {
    version: Version,
    needs: u8,
    got: u8,
    replicas: u64,
    payload: Option<T>,
}

/// Own writes that wait for replicas, in order of their versions.
pub struct AckTracker<T> {
    pending: VecDeque<Pending<T>>,
    acked: [Version; SLOTS],
}

impl<T> Default for AckTracker<T> {
    fn default() -> Self {
        AckTracker {
            pending: VecDeque::new(),
            acked: [Version(0); SLOTS],
        }
    }
}

impl<T> AckTracker<T> {
    /// Adds a write that is done once `needs` of the slots in `replicas` (a bit
    /// each) have acknowledged its version. Versions must grow from call to call.
    pub fn register(&mut self, version: Version, needs: u8, replicas: u64, payload: T) {
        debug_assert!(
            self.pending
                .back()
                .is_none_or(|last| last.version < version)
        );
        self.pending.push_back(Pending {
            version,
            needs,
            got: 0,
            replicas,
            payload: Some(payload),
        });
    }

    /// Notes that `slot` has everything up to `up_to`; passes each write this completes to `done`.
    pub fn acknowledge(&mut self, slot: Slot, up_to: Version, mut done: impl FnMut(Version, T)) {
        let Some(acked) = self.acked.get_mut(slot as usize) else {
            return;
        };
        let after = std::mem::replace(acked, up_to.max(*acked));
        if up_to <= after {
            return;
        }
        let start = self.pending.partition_point(|p| p.version <= after);
        for pending in self.pending.range_mut(start..) {
            if pending.version > up_to {
                break;
            }
            if pending.replicas & (1 << slot) == 0 {
                continue;
            }
            pending.got += 1;
            if pending.got >= pending.needs
                && let Some(payload) = pending.payload.take()
            {
                done(pending.version, payload);
            }
        }
        self.trim();
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
            .filter_map(|p| p.payload.map(|payload| (p.got, payload)))
            .collect()
    }

    /// Takes writes off that `expired` says nobody waits for any more.
    pub fn expire(&mut self, mut expired: impl FnMut(&T) -> bool) -> Vec<(u8, T)> {
        let mut taken = Vec::new();
        for pending in &mut self.pending {
            if pending.payload.as_ref().is_some_and(&mut expired)
                && let Some(payload) = pending.payload.take()
            {
                taken.push((pending.got, payload));
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
