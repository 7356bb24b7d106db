//! A write at the replica through which it enters the cluster: its condition is judged there, and its
//! keyspace widened if need be; then it is logged.

use std::rc::Rc;
use std::time::Duration;

use dunlin_entry::{Above, Entry, Kind, Position, Rank};
use dunlin_proto::{Condition, Given, ReadRequest, Refusal, WriteAnswer, WriteRequest};

use tokio::time::Instant;

use super::Coordinator;
use super::decide::Quorum;
use crate::limits::KEY_BYTES;
use crate::sabotage::Sabotage;
use crate::shard::{Done, Looked, Offered, beyond, decide};

impl Coordinator {
    /// Takes a write at its entry replica, this shard, and answers through `done`.
    pub(crate) fn enter(self: &Rc<Self>, request: WriteRequest, looked: Looked, done: Done) {
        if request.key.len() > KEY_BYTES {
            // No API lets it in, and no other replica would take it.
            return done(WriteAnswer::Refused(Refusal::Busy));
        }
        if self.shard.is_dropped(request.keyspace) {
            return done(WriteAnswer::Refused(Refusal::UnknownKeyspace));
        }
        let is_simple = request.condition == Condition::None && request.given.is_none();
        if self.shard.slow().is_on() {
            let wait = self.shard.slow().wait(request.value.len(), Instant::now());
            let coordinator = self.clone();
            tokio::task::spawn_local(
                async move { coordinator.enter_later(request, wait, done).await },
            );
        } else if is_simple {
            self.log_write(request, looked, done);
        } else {
            let coordinator = self.clone();
            tokio::task::spawn_local(async move { coordinator.enter_asking(request, done).await });
        }
    }

    /// Takes it once the record of its key is known.
    async fn enter_asking(self: Rc<Self>, request: WriteRequest, done: Done) {
        match request.given {
            Some(given) => self.enter_given(request, given, done).await,
            None => self.enter_checked(request, done).await,
        }
    }

    /// Takes it when it has waited for a replica that would fall off the log.
    async fn enter_later(self: Rc<Self>, request: WriteRequest, wait: Duration, done: Done) {
        let slowed = &self.shard.counters().slowed;
        slowed.set(slowed.get() + 1);
        tokio::time::sleep(wait).await;
        match self.shard.may_stamp() {
            Err(_) => done(WriteAnswer::Refused(Refusal::Clock)),
            Ok(looked) if request.condition == Condition::None && request.given.is_none() => {
                self.log_write(request, looked, done);
            }
            Ok(_) => self.enter_asking(request, done).await,
        }
    }

    /// Takes a write that has a timestamp. A write that is there already is not logged again; it is acknowledged once it
    /// is on a majority.
    async fn enter_given(self: Rc<Self>, request: WriteRequest, given: Given, done: Done) {
        let placement = self.shard.placement();
        let Some(keyspace) = placement.keyspace(request.keyspace) else {
            return done(WriteAnswer::Refused(Refusal::UnknownKeyspace));
        };
        let partition = keyspace.partition_of(&request.key);
        let offered = Rank::new(given.stamp, request.replaces).with_expiry(given.is_expiry);
        let ask = ReadRequest {
            keyspace: request.keyspace,
            partition,
            have: None,
            key: request.key.clone(),
        };
        let applied = self.shard.newest_applied(ask).await;
        // No await from here to the append.
        let unapplied = self
            .shard
            .newest_queued(request.keyspace, &request.key)
            .filter(|_| self.shard.answers());
        let held = applied.into_iter().chain(unapplied);
        let held = held.max_by_key(|(order, _)| *order);
        let offer = match self.shard.env().sabotage {
            Sabotage::LinkRelog => decide(held.filter(|(order, _)| *order > offered), offered),
            _ => decide(held, offered),
        };
        match offer {
            Offered::Held(at) => {
                let is_held = self.is_on_majority(&request, offered, at).await;
                done(if is_held {
                    WriteAnswer::Held(held.map_or(given.stamp, |(order, _)| order.stamp()))
                } else {
                    WriteAnswer::NotEnough { got: 0 }
                });
            }
            Offered::Log => match self.shard.may_stamp() {
                Err(_) => done(WriteAnswer::Refused(Refusal::Clock)),
                Ok(clock) => self.log_write(request, clock, done),
            },
        }
    }

    /// Waits until the entry at a position, or a newer one of its key, is on a majority.
    async fn is_on_majority(
        self: &Rc<Self>,
        request: &WriteRequest,
        least: Rank,
        at: Position,
    ) -> bool {
        let WriteRequest { keyspace, from, .. } = *request;
        if !self.shard.all_applied().await {
            return false;
        }
        let partition = {
            let placement = self.shard.placement();
            placement
                .keyspace(keyspace)
                .map(|k| k.partition_of(&request.key))
        };
        let Some(partition) = partition else {
            return false;
        };
        let at = (at.origin, at.sequence);
        if self.shard.is_held_by_enough(keyspace, partition, from, at)
            || self.shard.env().sabotage == Sabotage::LinkHeldAlone
        {
            return true;
        }
        let quorum = Quorum {
            ack: from / 2 + 1,
            from,
        };
        match self.read(keyspace, &request.key, quorum).await {
            Ok(Some(newest)) => newest.rank() >= least,
            // It was a delete, which all have forgotten.
            Ok(None) => true,
            Err(_) => false,
        }
    }

    /// Logs it, once its keyspace is as wide as it asks for.
    fn log_write(self: &Rc<Self>, request: WriteRequest, looked: Looked, done: Done) {
        let Some((request, done)) = self.shard.write(request, looked, done) else {
            return;
        };
        // Who coordinates it has not widened the keyspace, or does not know that it was.
        let coordinator = self.clone();
        tokio::task::spawn_local(async move {
            let widened = coordinator.widen(request.keyspace, request.from).await;
            // What a condition was checked against may be old by now.
            match coordinator.shard.may_stamp() {
                Err(_) => done(WriteAnswer::Refused(Refusal::Clock)),
                Ok(looked) if widened.is_ok() && request.condition == Condition::None => {
                    coordinator.log_write(request, looked, done);
                }
                Ok(_) => done(WriteAnswer::Refused(Refusal::Busy)),
            }
        });
    }

    async fn enter_checked(self: Rc<Self>, mut request: WriteRequest, done: Done) {
        let placement = self.shard.placement();
        let Some(keyspace) = placement.keyspace(request.keyspace) else {
            return done(WriteAnswer::Refused(Refusal::UnknownKeyspace));
        };
        let partition = keyspace.partition_of(&request.key);
        // Enough answers that every write acknowledged by `ack` replicas is among them.
        let quorum = Quorum {
            ack: (request.from - request.ack.min(request.from)).saturating_add(1),
            from: request.from,
        };
        let read = self.read(request.keyspace, &request.key, quorum).await;
        let Ok(mut newest) = read else {
            return done(WriteAnswer::NotEnough { got: 0 });
        };
        // No await from here to the append: what other writes logged in the meantime is seen, too.
        if let Ok(Some(local)) = self
            .shard
            .read_blocking(request.keyspace, partition, &request.key)
            && self.shard.counts(local.stamp)
            && newest.as_ref().is_none_or(|n| n.rank() < local.rank())
        {
            newest = Some(local);
        }
        let now_ms = self.shard.clock().now_ms();
        // What waits may be older than what is applied: repairs carry their true stamps.
        let unapplied = self
            .shard
            .newest_unapplied(request.keyspace, &request.key)
            .filter(|entry| newest.as_ref().is_none_or(|n| n.rank() < entry.rank()));
        // Its condition saw this: it may be stamped above it, whose clock may be ahead.
        let seen = newest.as_ref().map(|newest| newest.rank());
        let seen = seen.max(unapplied.as_ref().map(Entry::rank));
        if let Some(seen) = seen {
            let floor = match seen.above(self.shard.clock().limit()) {
                Above::Later(floor) => floor,
                Above::Replacing(replaces, floor) => {
                    request.replaces = Some(replaces);
                    floor
                }
                Above::Mended(_) => return done(beyond(seen.stamp(), request.deadline)),
            };
            request.floor = request.floor.max(floor);
        }
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
        match self.shard.may_stamp() {
            _ if !holds => done(WriteAnswer::ConditionFailed(current)),
            // The clock may have jumped, or been found wrong, since the write came.
            Err(_) => done(WriteAnswer::Refused(Refusal::Clock)),
            Ok(looked) => self.log_write(request, looked, done),
        }
    }
}
