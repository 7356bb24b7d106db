//! Ranges of keys in which nothing is applied just now: files with them are being taken over, and what was
//! applied between the look at the store and that would be hidden.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::{Entry, Kind};
use tokio::sync::Notify;

use super::Shard;

/// What may not be applied, and who is woken when it may.
#[derive(Default)]
pub(super) struct Quiet {
    /// How many ask that nothing at all be applied.
    pauses: Cell<u32>,
    ranges: RefCell<BTreeMap<(u32, u16), Vec<Range>>>,
    number: Cell<u64>,
    wake: Notify,
    /// A range may be kept again.
    freed: Notify,
}

struct Range {
    /// Of whom it is.
    number: u64,
    first: Bytes,
    last: Bytes,
}

/// A range of keys of one partition, both ends included.
pub(super) struct Keys {
    pub keyspace: u32,
    pub partition: u16,
    pub first: Bytes,
    pub last: Bytes,
}

/// Until it is dropped nothing is applied in its ranges.
pub(super) struct Still {
    quiet: Rc<Quiet>,
    number: u64,
}

/// Until it is dropped nothing is applied.
pub(crate) struct Pause(Rc<Quiet>);

impl Quiet {
    /// Applies nothing there from now on, once nobody else keeps any of it: of two who look, and then take
    /// files over, the later would hide what the earlier brought, whatever their stamps.
    pub async fn keep(self: &Rc<Self>, all: Vec<Keys>) -> Still {
        loop {
            // What is freed from here on is heard of.
            let freed = self.freed.notified();
            if !self.is_kept(&all) {
                return self.hold(all);
            }
            freed.await;
        }
    }

    /// Whether somebody keeps any of these.
    fn is_kept(&self, all: &[Keys]) -> bool {
        let ranges = self.ranges.borrow();
        all.iter().any(|keys| {
            let of = ranges.get(&(keys.keyspace, keys.partition));
            of.is_some_and(|of| {
                let overlaps = |r: &Range| r.first <= keys.last && keys.first <= r.last;
                of.iter().any(overlaps)
            })
        })
    }

    fn hold(self: &Rc<Self>, all: Vec<Keys>) -> Still {
        let number = self.number.get() + 1;
        self.number.set(number);
        let mut ranges = self.ranges.borrow_mut();
        for keys in all {
            let of = ranges.entry((keys.keyspace, keys.partition)).or_default();
            of.push(Range {
                number,
                first: keys.first,
                last: keys.last,
            });
        }
        Still {
            quiet: self.clone(),
            number,
        }
    }

    /// Applies nothing from now on.
    pub fn pause(self: &Rc<Self>) -> Pause {
        self.pauses.set(self.pauses.get() + 1);
        Pause(self.clone())
    }

    /// Whether anything may be applied.
    pub fn is_paused(&self) -> bool {
        self.pauses.get() > 0
    }

    /// Whether anything may not be: mostly not.
    pub fn is_any(&self) -> bool {
        !self.ranges.borrow().is_empty()
    }

    /// Whether an entry has to wait.
    pub fn holds(&self, entry: &Entry) -> bool {
        let ranges = self.ranges.borrow();
        let of = ranges.get(&(entry.keyspace, entry.partition));
        entry.kind != Kind::Vector
            && of.is_some_and(|of| {
                let key = &entry.key;
                of.iter().any(|r| r.first <= *key && *key <= r.last)
            })
    }

    /// Something is to be applied, or may be again.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Waits for that.
    pub async fn woken(&self) {
        self.wake.notified().await;
    }
}

impl Drop for Still {
    fn drop(&mut self) {
        let mut ranges = self.quiet.ranges.borrow_mut();
        ranges.retain(|_, of| {
            of.retain(|range| range.number != self.number);
            !of.is_empty()
        });
        drop(ranges);
        self.quiet.freed.notify_waiters();
        self.quiet.wake();
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        self.0.pauses.set(self.0.pauses.get() - 1);
        self.0.wake();
    }
}

impl Shard {
    /// Applies nothing until what this answers is dropped.
    pub(super) fn pause_applying(&self) -> Pause {
        self.quiet.pause()
    }
}

#[cfg(test)]
#[path = "quiet_tests.rs"]
mod tests;
