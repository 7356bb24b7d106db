//! Writes that enter the cluster here: stamped, logged, and answered when enough replicas have them.

use std::rc::Rc;

use dunlin_store::{Entry, Kind, Stamp, Version};
use tokio::time::Instant;

use super::append::Applying;
use super::{Shard, needs_sync};
use crate::limits::{APPLY_QUEUE, RESTAMPS, WRITE_TIMEOUT};
use crate::message::{Condition, Refusal, WriteAnswer, WriteRequest};
use crate::quorum::decide::Quorum;
use crate::replication::acks::Needs;
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
}

impl Shard {
    /// Logs a write here and answers through `done`.
    pub(crate) fn write(self: &Rc<Self>, request: WriteRequest, done: Done) {
        if self.may_stamp().is_err() {
            return done(WriteAnswer::Refused(Refusal::Clock));
        }
        if request.condition == Condition::None {
            self.append_request(request, done);
        } else {
            let shard = self.clone();
            tokio::task::spawn_local(async move { shard.write_checked(request, done).await });
        }
    }

    fn append_request(self: &Rc<Self>, request: WriteRequest, done: Done) {
        let placement = self.placement();
        let Some(keyspace) = placement.keyspace(request.keyspace) else {
            return done(WriteAnswer::Refused(Refusal::UnknownKeyspace));
        };
        if self.applying.borrow().len() > APPLY_QUEUE {
            return done(WriteAnswer::Refused(Refusal::Busy));
        }
        if !keyspace.keyspace.takes(request.from) && self.env.sabotage != Sabotage::NarrowFrom {
            // From a coordinator of a version that does not ask.
            let shard = self.clone();
            tokio::task::spawn_local(async move {
                let widened = shard.widen(request.keyspace, request.from).await;
                // What a condition was checked against may be old by now.
                match widened.is_ok() && request.condition == Condition::None {
                    true => shard.append_request(request, done),
                    false => done(WriteAnswer::Refused(Refusal::Busy)),
                }
            });
            return;
        }
        self.append_own(OwnWrite {
            entry: Entry {
                kind: request.kind,
                copy: false,
                from: request.from,
                partition: keyspace.partition_of(&request.key),
                keyspace: request.keyspace,
                stamp: Stamp::new(Version(0), self.origin),
                expiry_ms: request.expiry_ms,
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
            deadline: Instant::now() + WRITE_TIMEOUT,
            done,
        });
    }

    /// Stamps a write and puts it in the log; it goes on the books until acknowledged.
    pub(super) fn append_own(&self, mut write: OwnWrite) {
        if self.store_stuck.borrow().is_some() {
            return write.refuse(Refusal::NoSpace);
        }
        if self.is_superseded() {
            return write.refuse(Refusal::Busy);
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
        let needs = Needs {
            ack: write.ack,
            replicas: self.slots_of(keyspace.replicas(partition, write.from)),
            also: match self.env.sabotage {
                Sabotage::SkipJoint => 0,
                _ => self.slots_of(keyspace.also(partition, write.from)),
            },
        };
        if write.floor > self.clock.limit() {
            return write.refuse(Refusal::Busy);
        }
        let Some(version) = self.clock.next(write.floor, write.stamp_until) else {
            let clock = self.clock.now();
            return write.end(WriteAnswer::TooLate(clock));
        };
        write.entry.stamp = Stamp::new(version, self.origin);
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
    pub(crate) fn restamp(&self, version: Version, newer: Stamp) {
        self.take_over(newer.version);
        if self.env.sabotage == Sabotage::NoRestamp {
            return;
        }
        let taken = self.acks.borrow_mut().take(version);
        let Some(mut write) = taken else { return };
        if write.is_conditional && self.env.sabotage != Sabotage::RestampConditions {
            // A new stamp would lift it above what its condition never saw. Nor did it fail: some
            // replica may hold it, and may have shown it, under the stamp it has.
            return (write.done)(WriteAnswer::Overtaken);
        }
        self.counters.restamps.set(self.counters.restamps.get() + 1);
        write.restamps += 1;
        if write.restamps > RESTAMPS {
            return write.refuse(Refusal::Busy);
        }
        self.append_own(write);
    }

    /// A replica (or, as slot 0, this shard) has every own entry up to `up_to`.
    pub(crate) fn acknowledged(&self, slot: u8, up_to: Version) {
        let mut done = Vec::new();
        self.acks
            .borrow_mut()
            .acknowledge(slot, up_to, |_, write| done.push(write));
        for write in done {
            (write.done)(WriteAnswer::Done(write.entry.stamp));
        }
    }

    async fn write_checked(self: Rc<Self>, mut request: WriteRequest, done: Done) {
        let placement = self.placement();
        let Some(keyspace) = placement.keyspace(request.keyspace) else {
            return done(WriteAnswer::Refused(Refusal::UnknownKeyspace));
        };
        let partition = keyspace.partition_of(&request.key);
        // Enough answers that every write acknowledged by `ack` replicas is among them.
        let quorum = Quorum {
            ack: request.from - request.ack.min(request.from) + 1,
            from: request.from,
        };
        let read = self
            .read_quorum(request.keyspace, &request.key, quorum)
            .await;
        let Ok(mut newest) = read else {
            return done(WriteAnswer::NotEnough { got: 0 });
        };
        // No await from here to the append: what other writes logged in the meantime is seen, too.
        if let Ok(Some(local)) = self.read_blocking(request.keyspace, partition, &request.key)
            && self.counts(local.stamp)
            && newest.as_ref().is_none_or(|n| n.stamp < local.stamp)
        {
            newest = Some(local);
        }
        let now_ms = self.clock.now_ms();
        // What waits may be older than what is applied: repairs carry their true stamps.
        let unapplied = self
            .newest_unapplied(request.keyspace, &request.key)
            .filter(|entry| newest.as_ref().is_none_or(|n| n.stamp < entry.stamp));
        // Its condition saw this: it may be stamped above it, whose clock may be ahead.
        let seen = newest.as_ref().map(|newest| newest.stamp);
        let seen = seen.max(unapplied.as_ref().map(|entry| entry.stamp));
        request.floor = request
            .floor
            .max(seen.map_or(Version(0), |seen| seen.version));
        let current = match unapplied {
            Some(entry) => {
                let gone =
                    entry.kind == Kind::Delete || entry.expiry_ms.is_some_and(|e| e <= now_ms);
                (!gone).then_some(entry.stamp)
            }
            None => newest.filter(|n| n.is_visible(now_ms)).map(|n| n.stamp),
        };
        let holds = match request.condition {
            Condition::None => true,
            Condition::Absent => current.is_none(),
            Condition::Present => current.is_some(),
            Condition::Is(stamp) => current == Some(stamp),
        };
        if holds {
            self.append_request(request, done);
        } else {
            done(WriteAnswer::ConditionFailed(current));
        }
    }
}
