//! Ending a value whose time is over.

use bytes::Bytes;
use dunlin_entry::{Entry, Kind, Position, Stamp, Version};
use dunlin_store::Expired;

use super::append::Applying;
use super::{Shard, needs_sync};
use crate::fence::Trust;
use crate::limits::APPLY_QUEUE;
use crate::sabotage::Sabotage;

impl Shard {
    /// Whether this shard may say that values are over: others agree with its clock, and what it holds is
    /// certain. One that trusts its clock because it is alone may
    /// be years ahead, and what it ended would be gone for good.
    pub(crate) fn may_end(&self) -> bool {
        self.answers()
            && self.may_stamp().is_ok()
            && self.trust() == Trust::Trusted
            && !self.is_superseded()
    }

    /// Logs the delete that ends `value`, where that is this shard's to do; false when nothing more can
    /// be logged now.
    pub(crate) fn end_value(&self, value: Expired) -> bool {
        // A clock may have jumped since the last.
        let is_full = self.applying.borrow().len() > APPLY_QUEUE / 2;
        if is_full || self.store_stuck.borrow().is_some() || !self.may_end() {
            return false;
        }
        let placement = self.placement();
        let Some(keyspace) = placement.keyspace(value.keyspace) else {
            return true;
        };
        let width = keyspace.width(value.from);
        let is_entry = keyspace.enters(self.address, value.partition, width);
        // What is stamped too far ahead is to be mended first: no replica would take this.
        let is_far = value.stamp.version > self.clock.limit();
        if !is_entry || is_far || self.is_dropped(value.keyspace) {
            return true;
        }
        let Some(sequence) = self.clock.next(Version(0), Version::MAX) else {
            return false;
        };
        let mut entry = Entry {
            kind: Kind::Delete,
            copy: false,
            from: value.from,
            partition: value.partition,
            keyspace: value.keyspace,
            stamp: value.stamp,
            logged: Some(Box::new(Position::new(self.origin, sequence))),
            expiry_ms: Some(value.expiry_ms),
            is_expiry: true,
            replaces: value.replaces,
            key: value.key,
            value: Bytes::new(),
        };
        if self.env.sabotage == Sabotage::EndByNow {
            entry.stamp = Stamp::new(sequence, self.origin);
            entry.logged = None;
        }
        let sync = needs_sync(keyspace);
        let Ok(index) = self.log_record(entry.encode(), sync) else {
            return false;
        };
        self.vector.borrow_mut().advance(self.origin, sequence);
        self.counters.ended.set(self.counters.ended.get() + 1);
        self.queue_apply(Applying {
            index,
            sync,
            entry: Some(entry),
            own: true,
            batch: None,
            last: false,
        });
        true
    }
}
