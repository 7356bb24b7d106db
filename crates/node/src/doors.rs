//! What a process lets in, for all its nodes together: clients' connections, and the memory that
//! requests, answers and queues take. Shared by all event loops; a request costs an atomic addition
//! where it is large, and nothing where it is small.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::api::Handshakes;

/// How much is let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Connections of clients at a time.
    pub connections: usize,
    /// Bytes of requests, answers and queues together.
    pub memory_bytes: usize,
}

impl Bounds {
    /// None: for what is not reached by clients.
    pub const NONE: Bounds = Bounds {
        connections: usize::MAX,
        memory_bytes: usize::MAX,
    };
}

/// Connections that are told at a time that there are too many; further ones are closed at once.
pub const REFUSALS_MAX: usize = 16;

/// The bounds, and what is inside of them.
pub(crate) struct Doors {
    pub bounds: Bounds,
    pub connections: AtomicUsize,
    /// Connections that are being told that there are too many.
    refusing: AtomicUsize,
    pub connections_refused: AtomicU64,
    /// Bytes of bodies and answers.
    held: AtomicUsize,
    /// Bytes in queues, as the shards counted them last.
    queued: AtomicUsize,
    pub memory_refused: AtomicU64,
    pub slow_senders: AtomicU64,
    pub slow_readers: AtomicU64,
    /// Of clients' connections, where they speak TLS.
    pub handshakes: Handshakes,
}

impl Doors {
    pub fn new(bounds: Bounds) -> Arc<Doors> {
        Arc::new(Doors {
            bounds,
            connections: AtomicUsize::new(0),
            refusing: AtomicUsize::new(0),
            connections_refused: AtomicU64::new(0),
            held: AtomicUsize::new(0),
            queued: AtomicUsize::new(0),
            memory_refused: AtomicU64::new(0),
            slow_senders: AtomicU64::new(0),
            slow_readers: AtomicU64::new(0),
            handshakes: Handshakes::default(),
        })
    }

    /// Lets a client's connection in; `None` when there are too many.
    pub fn enter(self: &Arc<Doors>) -> Option<Entered> {
        let entered = Entered::count(self, |doors| &doors.connections, self.bounds.connections);
        if entered.is_none() {
            self.connections_refused.fetch_add(1, Relaxed);
        }
        entered
    }

    /// A place among those that are told that there are too many.
    pub fn refuse(self: &Arc<Doors>) -> Option<Entered> {
        Entered::count(self, |doors| &doors.refusing, REFUSALS_MAX)
    }

    /// An account of memory, empty as yet.
    pub fn account(self: &Arc<Doors>) -> Held {
        Held {
            doors: self.clone(),
            bytes: 0,
        }
    }

    /// Memory in use: bodies, answers and queues.
    pub fn memory_bytes(&self) -> usize {
        self.held
            .load(Relaxed)
            .saturating_add(self.queued.load(Relaxed))
    }

    /// Whether so much more memory could be had now.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.memory_bytes().saturating_add(bytes) <= self.bounds.memory_bytes
    }

    /// Takes note of what a shard has in its queues; `before` is what it said last.
    pub fn queued(&self, before: usize, now: usize) {
        match now.checked_sub(before) {
            Some(more) => self.queued.fetch_add(more, Relaxed),
            None => self.queued.fetch_sub(before - now, Relaxed),
        };
    }
}

/// One of a bounded number, counted until it is dropped.
pub(crate) struct Entered {
    doors: Arc<Doors>,
    counter: fn(&Doors) -> &AtomicUsize,
}

impl Entered {
    fn count(
        doors: &Arc<Doors>,
        counter: fn(&Doors) -> &AtomicUsize,
        most: usize,
    ) -> Option<Entered> {
        if counter(doors).fetch_add(1, Relaxed) >= most {
            counter(doors).fetch_sub(1, Relaxed);
            return None;
        }
        Some(Entered {
            doors: doors.clone(),
            counter,
        })
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        (self.counter)(&self.doors).fetch_sub(1, Relaxed);
    }
}

/// There is no memory left for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoRoom;

/// Memory that something takes, until it is dropped.
pub(crate) struct Held {
    doors: Arc<Doors>,
    bytes: usize,
}

impl Held {
    /// Takes more, if there is room.
    pub fn grow(&mut self, more: usize) -> Result<(), NoRoom> {
        self.add(more);
        if self.doors.memory_bytes() > self.doors.bounds.memory_bytes {
            self.remove(more);
            self.doors.memory_refused.fetch_add(1, Relaxed);
            return Err(NoRoom);
        }
        Ok(())
    }

    /// What it takes is now this much, whether or not there is room: it is there already.
    pub fn set(&mut self, bytes: usize) {
        match bytes.checked_sub(self.bytes) {
            Some(more) => self.add(more),
            None => self.remove(self.bytes - bytes),
        }
    }

    fn add(&mut self, bytes: usize) {
        self.doors.held.fetch_add(bytes, Relaxed);
        self.bytes += bytes;
    }

    fn remove(&mut self, bytes: usize) {
        self.doors.held.fetch_sub(bytes, Relaxed);
        self.bytes -= bytes;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.remove(self.bytes);
    }
}

#[cfg(test)]
#[path = "doors_tests.rs"]
mod tests;
