//! Times in which an event loop stood still: a stopped process, a paused machine. What came in the
//! meantime waited in sockets, and who sent it may have given it up and gone on elsewhere.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::Waker;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::clock::Clock;
use crate::limits::{STALL, STALL_GRACE, STALL_INTERVAL};

/// The stalls of one shard's event loop. Whoever looks, looks at the clocks: a gap since the last
/// look is a stall, for the loop itself looks every so often.
pub(crate) struct Stalls {
    wall: Arc<dyn Clock>,
    seen_ms: Cell<u64>,
    seen: Cell<Instant>,
    count: Cell<u64>,
    /// How often the wall clock went ahead of the monotonic one by more than the bound.
    jumps: Cell<u64>,
    bound_ms: u64,
    /// When the last one ended; `None` before the first.
    ended: Cell<Option<Instant>>,
    noticed: Notify,
    connections: RefCell<Vec<Weak<Arrivals>>>,
}

impl Stalls {
    /// `bound_ms`: how far the wall clock may be set ahead at a time without being compared anew.
    pub fn new(wall: Arc<dyn Clock>, bound_ms: u64) -> Stalls {
        Stalls {
            seen_ms: Cell::new(wall.now_ms()),
            wall,
            seen: Cell::new(Instant::now()),
            count: Cell::new(0),
            jumps: Cell::new(0),
            bound_ms,
            ended: Cell::new(None),
            noticed: Notify::new(),
            connections: RefCell::default(),
        }
    }

    /// Stalls known of.
    pub fn count(&self) -> u64 {
        self.count.get()
    }

    /// Jumps of the wall clock known of.
    pub fn jumps(&self) -> u64 {
        self.jumps.get()
    }

    /// The wall clock at the last look, in milliseconds since 1970.
    pub fn seen_ms(&self) -> u64 {
        self.seen_ms.get()
    }

    /// Looks whether the loop stood still since the last look; the stalls known of now.
    pub fn observe(&self) -> u64 {
        let (now, now_ms) = (Instant::now(), self.wall.now_ms());
        let since = now.duration_since(self.seen.replace(now));
        // The monotonic clock may stand still with the machine.
        let since_ms = now_ms.saturating_sub(self.seen_ms.replace(now_ms));
        if since_ms.saturating_sub(since.as_millis() as u64) > self.bound_ms {
            self.jumps.set(self.jumps.get() + 1);
        }
        if since > STALL || since_ms > STALL.as_millis() as u64 {
            self.count.set(self.count.get() + 1);
            self.ended.set(Some(now));
            tracing::warn!(
                ms = since_ms.max(since.as_millis() as u64),
                "this event loop stood still; writes that waited in its sockets without a deadline are refused"
            );
            self.noticed.notify_waiters();
            // Those with nothing in their sockets say so before anything new comes.
            self.wake_connections();
        }
        self.count.get()
    }

    /// Wakes whoever waits for something to read.
    pub fn wake_connections(&self) {
        self.connections.borrow_mut().retain(|connection| {
            connection.upgrade().is_some_and(|each| {
                each.wake();
                true
            })
        });
    }

    /// Whether the last stall has only just ended, as of the last look.
    pub fn is_recent(&self) -> bool {
        let since = |ended| self.seen.get().duration_since(ended);
        self.ended
            .get()
            .is_some_and(|ended| since(ended) < STALL_GRACE)
    }

    /// Waits for a stall after the first `count`.
    pub async fn after(&self, count: u64) {
        while self.count.get() == count {
            self.noticed.notified().await;
        }
    }

    /// Looks every so often, for as long as the shard runs.
    pub async fn watch(&self) {
        loop {
            tokio::time::sleep(STALL_INTERVAL).await;
            self.observe();
        }
    }
}

/// What came over one connection, and whether it may have waited through a stall.
///
/// A connection is *clear* of the stalls up to which its socket was seen empty: by a read that did
/// not fill its buffer, or by a look into the socket. What is read while it is not clear may have
/// waited. That sticks: the answer closes the connection, so nothing has to be told apart in it.
pub(crate) struct Arrivals {
    stalls: Rc<Stalls>,
    clear: Cell<u64>,
    read: Cell<u64>,
    waited: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Arrivals {
    /// For a connection that was just accepted; `waited` when that itself may have waited.
    pub fn new(stalls: Rc<Stalls>, waited: bool) -> Rc<Arrivals> {
        let count = stalls.observe();
        let arrivals = Rc::new(Arrivals {
            clear: Cell::new(count),
            read: Cell::new(count),
            waited: Cell::new(waited),
            waker: RefCell::default(),
            stalls,
        });
        let mut known = arrivals.stalls.connections.borrow_mut();
        if known.len() == known.capacity() {
            known.retain(|each| each.strong_count() > 0);
        }
        known.push(Rc::downgrade(&arrivals));
        drop(known);
        arrivals
    }

    /// Whether the socket has to be looked into before it is read.
    pub fn is_unclear(&self) -> bool {
        self.clear.get() != self.stalls.count()
    }

    /// The socket was looked into and held nothing.
    pub fn was_empty(&self) {
        self.clear.set(self.stalls.count());
    }

    /// A read found nothing; `waker` is told when it is to be tried again.
    pub fn idle(&self, waker: &Waker) {
        let mut held = self.waker.borrow_mut();
        if !held.as_ref().is_some_and(|held| held.will_wake(waker)) {
            *held = Some(waker.clone());
        }
    }

    /// Something was read; `is_rest` when the socket held no more than that.
    pub fn read(&self, is_rest: bool) {
        let count = self.stalls.observe();
        if self.clear.get() != count || self.stalls.is_recent() {
            self.waited.set(true);
        }
        self.read.set(count);
        if is_rest {
            self.clear.set(count);
        }
    }

    /// Whether a request that has been read to its end just now may have waited through a stall.
    pub fn may_have_waited(&self) -> bool {
        self.stalls.observe() != self.read.get() || self.waited.get()
    }

    /// Whether anything that came over it may have waited through a stall.
    pub fn has_waited(&self) -> bool {
        self.waited.get()
    }

    /// A request of it waited, here in this process.
    pub fn has_been_held_up(&self) {
        self.waited.set(true);
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

#[cfg(test)]
#[path = "stall_tests.rs"]
mod tests;
