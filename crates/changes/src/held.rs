//! Changes that streams hold and their clients have not taken. Their bytes are bounded for all of a shard: beyond
//! that, streams end whose clients do not read.

use std::cell::Cell;
use std::rc::Rc;

use crate::change::Change;
use crate::outbox::LARGE_BYTES;

/// More bytes are held only for clients that read.
pub(crate) const HELD_MAX: usize = 24 << 20;

/// Bytes that are held, those that several hold once.
#[derive(Debug, Default)]
pub(crate) struct Total(Cell<usize>);

/// Who holds something: a stream.
#[derive(Clone)]
pub(crate) struct Holder {
    pub total: Rc<Total>,
    /// Bytes that it holds, whether or not others hold the same.
    pub own: Rc<Cell<usize>>,
}

/// Something that a stream holds.
pub(crate) struct Hold {
    holder: Holder,
    bytes: usize,
    /// Where others may hold the same.
    change: Option<Rc<Change>>,
}

impl Total {
    /// Bytes.
    pub fn bytes(&self) -> usize {
        self.0.get()
    }

    fn add(&self, bytes: usize) {
        self.0.set(self.0.get() + bytes);
    }

    fn remove(&self, bytes: usize) {
        self.0.set(self.0.get().saturating_sub(bytes));
    }
}

impl Holder {
    /// Holds bytes that nobody else does; few are not counted.
    pub fn bytes(&self, bytes: usize) -> Option<Hold> {
        (bytes > LARGE_BYTES).then(|| {
            self.total.add(bytes);
            self.hold(bytes, None)
        })
    }

    /// Holds a change that other streams may hold, too.
    pub fn change(&self, change: &Rc<Change>) -> Option<Hold> {
        let bytes = change.bytes();
        (bytes > LARGE_BYTES).then(|| {
            if change.hold() {
                self.total.add(bytes);
            }
            self.hold(bytes, Some(change.clone()))
        })
    }

    fn hold(&self, bytes: usize, change: Option<Rc<Change>>) -> Hold {
        self.own.set(self.own.get() + bytes);
        let holder = self.clone();
        Hold {
            holder,
            bytes,
            change,
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let Holder { total, own } = &self.holder;
        own.set(own.get().saturating_sub(self.bytes));
        if self.change.as_ref().is_none_or(|change| change.let_go()) {
            total.remove(self.bytes);
        }
    }
}

#[cfg(test)]
#[path = "held_tests.rs"]
mod tests;
