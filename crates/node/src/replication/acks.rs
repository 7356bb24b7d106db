//! Which writes are done: pure bookkeeping of cumulative acknowledgements.

use std::collections::VecDeque;

use dunlin_entry::Version;
use smallvec::SmallVec;

/// A shard in another's books; 0 is the shard itself. There are as many as it ever had to do with.
pub type Slot = u16;

/// Most replicas of one write, those of both sets together: a bit each.
pub const REPLICAS_MAX: usize = 64;

/// Those of most writes take no memory of their own.
const REPLICAS_INLINE: usize = 6;

/// Which replicas must acknowledge a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs {
    /// How many of each set.
    ack: u8,
    /// All of them.
    slots: SmallVec<[Slot; REPLICAS_INLINE]>,
    /// The replicas by their places in `slots`, a bit each.
    replicas: u64,
    /// A second set, while the replicas change from one to another; else no bit. One with fewer
    /// than `ack` replicas must acknowledge as a whole.
    also: u64,
    /// Nobody but the shard itself stores anything of the partition, whoever is asked.
    is_alone: bool,
}

impl Needs {
    /// `ack` of `replicas`, and of `also` where there are any. Of more than [`REPLICAS_MAX`] together the
    /// last do not count.
    pub fn new(
        ack: u8,
        replicas: impl IntoIterator<Item = Slot>,
        also: impl IntoIterator<Item = Slot>,
        is_alone: bool,
    ) -> Needs {
        let mut slots = SmallVec::new();
        let replicas = enlist(&mut slots, replicas);
        let also = enlist(&mut slots, also);
        Needs {
            ack,
            slots,
            replicas,
            also,
            is_alone,
        }
    }

    fn met(&self, acked: u64) -> bool {
        let enough = |set: u64, ack: u32| (acked & set).count_ones() >= ack;
        let ack = u32::from(self.ack);
        enough(self.replicas, ack) && enough(self.also, ack.min(self.also.count_ones()))
    }

    /// A replica's bit; none for a shard that is no replica of the write.
    fn bit(&self, slot: Slot) -> u64 {
        let place = self.slots.iter().position(|other| *other == slot);
        place.map_or(0, |place| 1 << place)
    }
}

/// The bits of some replicas, which are put on the list unless they are on it.
fn enlist(
    slots: &mut SmallVec<[Slot; REPLICAS_INLINE]>,
    replicas: impl IntoIterator<Item = Slot>,
) -> u64 {
    let mut bits = 0;
    for slot in replicas {
        let known = slots.iter().position(|other| *other == slot);
        let place = known.unwrap_or(slots.len());
        if place >= REPLICAS_MAX {
            break;
        }
        if known.is_none() {
            slots.push(slot);
        }
        bits |= 1 << place;
    }
    bits
}

struct Pending<T> {
    version: Version,
    needs: Needs,
    acked: u64,
    /// Replicas that have it, or will, without its counting.
    refused: u64,
    payload: Option<T>,
}

/// What a replica said last.
#[derive(Clone, Copy, Default)]
struct Said {
    acked: Version,
    /// Where its word begins to count.
    unsure: Version,
}

impl<T> Pending<T> {
    fn got(&self) -> u8 {
        (self.acked & self.needs.replicas).count_ones() as u8
    }
}

/// Own writes that wait for replicas, in order of their versions.
pub struct AckTracker<T> {
    pending: VecDeque<Pending<T>>,
    /// By slot.
    said: Vec<Said>,
}

impl<T> Default for AckTracker<T> {
    fn default() -> Self {
        AckTracker {
            pending: VecDeque::new(),
            said: Vec::new(),
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
        let at = usize::from(slot);
        if self.said.len() <= at {
            self.said.resize(at + 1, Said::default());
        }
        let said = self.said[at];
        // What did not count before may do so now, as far as this answer speaks of it: one from the
        // replica's next life says nothing yet of what it is sent again.
        let (after, acked) = if unsure < said.unsure {
            (unsure.min(said.acked), up_to)
        } else {
            (said.acked, up_to.max(said.acked))
        };
        self.said[at] = Said { acked, unsure };
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
            pending.acked |= pending.needs.bit(slot) & !pending.refused;
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
        pending.refused |= pending.needs.bit(slot) & !pending.acked;
        if pending.needs.met(!pending.refused) {
            return None;
        }
        let got = pending.got();
        let payload = pending.payload.take().map(|payload| (got, payload));
        self.trim();
        payload
    }

    /// A pending write.
    pub fn get(&self, version: Version) -> Option<&T> {
        let at = self.pending.binary_search_by_key(&version, |p| p.version);
        self.pending.get(at.ok()?)?.payload.as_ref()
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
