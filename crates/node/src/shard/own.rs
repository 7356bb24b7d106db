//! Writes that enter the cluster here: stamped, logged, and answered when enough replicas have them.

use dunlin_entry::{Above, Entry, Kind, Position, Rank, Stamp, Version};
use dunlin_proto::{Condition, Given, Refusal, WriteAnswer, WriteRequest};
use dunlin_store::{Lookup, Tier};
use tokio::time::Instant;

use super::append::Applying;
use super::trust::Looked;
use super::{Shard, needs_sync};
use crate::limits::{APPLY_QUEUE, RESTAMPS, WRITE_TIMEOUT};
use crate::replication::acks::{Needs, Slot};
use crate::sabotage::Sabotage;

/// Takes the answer to a write, once.
pub(crate) type Done = Box<dyn FnOnce(WriteAnswer)>;

/// A write on the books until enough replicas have it.
pub(crate) struct OwnWrite {
    pub entry: Entry,
    pub ack: u8,
    /// Only acknowledgements of the first so many replicas count. The entry may go to more.
    pub from: u8,
    pub restamps: u8,
    /// What it asked for held when it was logged, and would have to be asked again.
    pub is_conditional: bool,
    /// The greatest version it may be stamped with.
    pub stamp_until: Version,
    /// It is stamped above this.
    pub floor: Version,
    /// It keeps this timestamp, whatever it meets.
    pub given: Option<Given>,
    /// When its acknowledgements are no longer waited for.
    pub deadline: Instant,
    pub done: Done,
}

impl OwnWrite {
    /// Gives the write up. Once it has been logged under some stamp, it may be
    /// known elsewhere: then nobody may be told that nothing was written.
    fn refuse(self, refusal: Refusal) {
        self.end(WriteAnswer::Refused(refusal));
    }

    fn end(self, unwritten: WriteAnswer) {
        (self.done)(match self.restamps {
            0 => unwritten,
            _ => WriteAnswer::NotEnough { got: 0 },
        });
    }

    /// Whether it only repeats what is stored.
    fn is_mend(&self) -> bool {
        self.entry.replaces.is_some_and(|replaces| replaces.is_mend)
    }
}

/// The answer to a write that met a stamp it cannot get above: who sends no deadline does not know
/// the better one.
pub(crate) fn beyond(stamp: Stamp, deadline: Version) -> WriteAnswer {
    match deadline {
        Version::MAX => WriteAnswer::NotEnough { got: 0 },
        _ => WriteAnswer::Beyond(stamp),
    }
}

impl Shard {
    /// Logs a write here and answers through `done`, its condition met. Gives it back where its keyspace
    /// is to be widened first.
    pub(crate) fn write(
        &self,
        mut request: WriteRequest,
        looked: Looked,
        done: Done,
    ) -> Option<(WriteRequest, Done)> {
        let placement = self.placement();
        let Some(keyspace) = placement.keyspace(request.keyspace) else {
            done(WriteAnswer::Refused(Refusal::UnknownKeyspace));
            return None;
        };
        let partition = keyspace.partition_of(&request.key);
        // Where stamps far ahead are about, a look saves logging what would only be stamped again.
        if self.has_met_far.get()
            && request.replaces.is_none()
            && request.given.is_none()
            && let Some(held) = self.rank_at_hand(request.keyspace, partition, &request.key)
        {
            match held.above(self.clock.limit()) {
                Above::Later(_) => {}
                Above::Replacing(replaces, version) => {
                    self.take_over(version);
                    request.replaces = Some(replaces);
                }
                Above::Mended(_) => {
                    done(beyond(held.stamp(), request.deadline));
                    return None;
                }
            }
        }
        if self.applying.borrow().len() > APPLY_QUEUE {
            done(WriteAnswer::Refused(Refusal::Busy));
            return None;
        }
        if !keyspace.keyspace.takes(request.from) && self.env.sabotage != Sabotage::NarrowFrom {
            return Some((request, done));
        }
        let own = OwnWrite {
            entry: Entry {
                kind: request.kind,
                copy: false,
                from: request.from,
                partition,
                keyspace: request.keyspace,
                stamp: Stamp::new(Version(0), self.origin),
                logged: None,
                expiry_ms: request.expiry_ms,
                is_expiry: false,
                replaces: request.replaces,
                key: request.key,
                value: request.value,
            },
            ack: request.ack,
            from: request.from,
            restamps: 0,
            is_conditional: request.condition != Condition::None,
            stamp_until: match self.env.sabotage {
                Sabotage::IgnoreDeadlines => Version::MAX,
                _ => request.deadline,
            },
            floor: request.floor,
            given: request.given,
            deadline: Instant::now() + WRITE_TIMEOUT,
            done,
        };
        self.append_own(own, looked);
        None
    }

    /// Stamps a write and puts it in the log; it goes on the books until acknowledged.
    fn append_own(&self, mut write: OwnWrite, _: Looked) {
        if self.store_stuck.borrow().is_some() {
            return write.refuse(Refusal::NoSpace);
        }
        if self.is_superseded() || self.backlog.refuses() {
            return write.refuse(Refusal::Busy);
        }
        if self.is_dropped(write.entry.keyspace) {
            return write.refuse(Refusal::UnknownKeyspace);
        }
        let placement = self.placement();
        let Some(keyspace) = placement.keyspace(write.entry.keyspace) else {
            return write.refuse(Refusal::UnknownKeyspace);
        };
        let partition = write.entry.partition;
        if !keyspace.enters(self.address, partition, write.from) {
            // The coordinator goes by other members: it tries another replica.
            return write.refuse(Refusal::Busy);
        }
        let also = match self.env.sabotage {
            Sabotage::SkipJoint => &[],
            _ => keyspace.also(partition, write.from),
        };
        let needs = {
            let peers = self.peers.borrow();
            let slot_of = |replica| self.slot_in(&peers, replica);
            let replicas = keyspace.replicas(partition, write.from).iter();
            let is_alone = keyspace.is_alone(self.address, partition);
            let also = also.iter().filter_map(slot_of);
            Needs::new(write.ack, replicas.filter_map(slot_of), also, is_alone)
        };
        if write.floor > self.clock.limit() {
            return write.refuse(Refusal::Busy);
        }
        let given = write.given;
        // Before the clock is read: replicas take no entry whose position is before its timestamp.
        if given.is_some_and(|given| !self.take_over(given.stamp.version)) {
            return write.refuse(Refusal::Clock);
        }
        let Some(version) = self.clock.next(write.floor, write.stamp_until) else {
            let clock = self.clock.now();
            return write.end(WriteAnswer::TooLate(clock));
        };
        write.entry.stamp = Stamp::new(version, self.origin);
        if let Some(Given { stamp, is_expiry }) = given {
            write.entry.stamp = stamp;
            write.entry.is_expiry = is_expiry;
            if self.env.sabotage != Sabotage::LinkTimestampAsPosition {
                write.entry.logged = Some(Box::new(Position::new(self.origin, version)));
            }
        }
        write.entry.from = match self.env.sabotage {
            Sabotage::NarrowFrom => match write.entry.kind {
                Kind::Delete => write.from.max(keyspace.keyspace.settings.replicas),
                _ => write.from,
            },
            _ => keyspace.width_of_write(write.entry.kind, write.from),
        };
        self.note_width(keyspace, &write.entry);
        let sync = needs_sync(keyspace);
        let index = match self.log_record(write.entry.encode(), sync) {
            Ok(index) => index,
            Err(refusal) => return write.refuse(refusal),
        };
        self.vector.borrow_mut().advance(self.origin, version);
        self.counters.writes.set(self.counters.writes.get() + 1);
        self.queue_apply(Applying {
            index,
            sync,
            entry: Some(write.entry.clone()),
            own: true,
            batch: None,
            last: false,
        });
        self.acks.borrow_mut().register(version, needs, write);
    }

    /// A replica holds something newer than the write stamped `version`: stamp
    /// the write again above it, or an acknowledged write would be lost to a slow clock.
    pub(crate) fn restamp(&self, version: Version, newer: Rank) {
        let above = newer.above(self.clock.limit());
        match above {
            Above::Later(floor) | Above::Replacing(_, floor) => self.take_over(floor),
            // Only counted.
            Above::Mended(_) => self.take_over(newer.stamp().version),
        };
        if !matches!(above, Above::Later(_)) {
            self.has_met_far.set(true);
        }
        if self.env.sabotage == Sabotage::NoRestamp {
            return;
        }
        let keeps = self.env.sabotage != Sabotage::LinkNewTimestamp;
        let is_given = |write: &OwnWrite| write.given.is_some() && keeps;
        if self.acks.borrow().get(version).is_some_and(is_given) {
            // It is acknowledged by whoever has it, or something newer.
            return;
        }
        let taken = self.acks.borrow_mut().take(version);
        let Some(mut write) = taken else { return };
        if write.is_mend() {
            // Whatever it met is newer than what it repeats, or has to be mended itself.
            return (write.done)(WriteAnswer::Overtaken);
        }
        match above {
            Above::Later(_) => {}
            Above::Replacing(replaces, _) => write.entry.replaces = Some(replaces),
            Above::Mended(_) => {
                return (write.done)(beyond(newer.stamp(), write.stamp_until));
            }
        }
        if write.is_conditional && self.env.sabotage != Sabotage::RestampConditions {
            // A new stamp would lift it above what its condition never saw. Nor did it fail: some
            // replica may hold it, and may have shown it, under the stamp it has.
            return (write.done)(WriteAnswer::Overtaken);
        }
        if self.env.sabotage == Sabotage::LinkNewTimestamp {
            write.given = None;
            write.entry.logged = None;
        }
        self.counters.restamps.set(self.counters.restamps.get() + 1);
        write.restamps += 1;
        if write.restamps > RESTAMPS {
            return write.refuse(Refusal::Busy);
        }
        // Its clock may have jumped, or been found wrong, since its first stamp.
        match self.may_stamp() {
            Ok(looked) => self.append_own(write, looked),
            Err(_) => write.refuse(Refusal::Clock),
        }
    }

    /// What is held for a key, as far as memory tells.
    fn rank_at_hand(&self, keyspace: u32, partition: u16, key: &[u8]) -> Option<Rank> {
        // What is held by a shard of uncertain past may be gone everywhere else.
        if !self.answers() {
            return None;
        }
        match self.store.get(keyspace, partition, key, Tier::CacheOnly) {
            Ok(Lookup::Value(held)) => Some(held.rank()),
            _ => None,
        }
    }

    /// A replica (or, as slot 0, this shard) has every own entry up to `up_to`, and what it says
    /// counts above `unsure`.
    pub(crate) fn acknowledged(&self, slot: Slot, up_to: Version, unsure: Version) {
        let unsure = match self.env.sabotage {
            Sabotage::CountUnsure => Version(0),
            _ => unsure,
        };
        if slot == 0 {
            self.held.has_own(up_to);
        }
        let mut done = Vec::new();
        self.acks
            .borrow_mut()
            .acknowledge(slot, up_to, unsure, |_, write| done.push(write));
        for write in done {
            (write.done)(WriteAnswer::Done(write.entry.stamp));
        }
    }

    /// A replica has the own entry `version`, or will, and that does not count: there the keyspace is
    /// dropped.
    pub(crate) fn uncounted(&self, slot: Slot, version: Version) {
        let hopeless = self.acks.borrow_mut().refuse(slot, version);
        if let Some((got, write)) = hopeless {
            (write.done)(WriteAnswer::NotEnough { got });
        }
    }
}
