//! Transactions over several requests that are open at a shard: their writes, and how many one client may have.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use bytes::Bytes;
use dunlin_entry::Version;
use dunlin_node::Failure;
use dunlin_node::plug::Memory;
use tokio::time::Instant;

use crate::body::{Place, Write};
use crate::limits::Limits;
use crate::locked::Locked;
use crate::read_set::ReadSet;
use crate::step::{StepReply, Written, refused};

/// Transactions at a shard.
const OPEN_MAX: usize = 4_096;
/// Of these, one client has at most one part in so many.
const CLIENT_PART: usize = 4;

/// One that is open.
pub(crate) struct Buffer {
    secret: u64,
    /// Who began it: a user, or an address.
    client: String,
    /// In the order in which keys were first written.
    pub writes: Vec<Write>,
    bytes: usize,
    memory: Memory,
    started: Instant,
    pub used: Instant,
    /// The timestamp that it reads and writes at.
    pub at: Version,
    /// Keys and scans that it has read.
    pub reads: ReadSet,
    /// Bytes that this takes.
    read_bytes: usize,
    /// The key that it has locked, or waits for.
    pub lock: Option<(Place, Option<Locked>)>,
    pub is_committing: bool,
}

/// Places and memory that one client has taken.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Taken {
    open: usize,
    bytes: usize,
}

/// Those that are open at a shard, by their timestamps.
#[derive(Default)]
pub(crate) struct Open {
    buffers: RefCell<BTreeMap<Version, Buffer>>,
    by_client: RefCell<BTreeMap<String, Taken>>,
    expired: Cell<u64>,
}

impl Open {
    pub fn count(&self) -> usize {
        self.buffers.borrow().len()
    }

    /// Those that were forgotten since the start.
    pub fn expired(&self) -> u64 {
        self.expired.get()
    }

    /// Refuses one more, where there are too many, of all or of this client.
    pub fn admit(&self, client: &str) -> Result<(), Failure> {
        if self.count() >= OPEN_MAX {
            return Err(Failure::NoLeader(format!(
                "{OPEN_MAX} transactions are open at this shard: try again in a moment"
            )));
        }
        let taken = self.by_client.borrow().get(client).copied();
        let own = taken.unwrap_or_default().open;
        if own >= OPEN_MAX / CLIENT_PART {
            return Err(Failure::NoLeader(format!(
                "{own} transactions of {client} are open at this shard, of {OPEN_MAX} a quarter: commit or abort some"
            )));
        }
        Ok(())
    }

    /// Keeps a new one.
    pub fn insert(&self, (txn, secret): (Version, u64), client: String, memory: Memory) {
        let now = Instant::now();
        let mut by_client = self.by_client.borrow_mut();
        by_client.entry(client.clone()).or_default().open += 1;
        let buffer = Buffer {
            secret,
            client,
            writes: Vec::new(),
            bytes: 0,
            memory,
            started: now,
            used: now,
            at: txn,
            reads: ReadSet::default(),
            read_bytes: 0,
            lock: None,
            is_committing: false,
        };
        self.buffers.borrow_mut().insert(txn, buffer);
    }

    /// Does something with one, if there is one of this timestamp and secret.
    pub fn with<T>(
        &self,
        txn: Version,
        secret: u64,
        act: impl FnOnce(&mut Buffer) -> T,
    ) -> Option<T> {
        let mut buffers = self.buffers.borrow_mut();
        let buffer = buffers.get_mut(&txn)?;
        // Whole numbers are compared in constant time.
        (buffer.secret ^ secret == 0).then(|| act(buffer))
    }

    /// It has ended.
    pub fn remove(&self, txn: Version) {
        if let Some(buffer) = self.buffers.borrow_mut().remove(&txn) {
            let mut by_client = self.by_client.borrow_mut();
            if let Some(taken) = by_client.get_mut(&buffer.client) {
                taken.open -= 1;
                taken.bytes -= buffer.held();
                if taken.open == 0 {
                    by_client.remove(&buffer.client);
                }
            }
        }
    }

    /// Keeps a write of one that `with` has found, if its client may take so much: of all memory for requests, one part
    /// in four at this shard.
    pub fn put(
        &self,
        buffer: &mut Buffer,
        limits: &Limits,
        (place, value): (&Place, Option<&Bytes>),
        memory_bytes: usize,
    ) -> StepReply {
        self.counted(buffer, memory_bytes, |buffer, room| {
            buffer.put(limits, (place, value), room)
        })
    }

    /// Has one that `with` has found remember what it will read, if there is memory for it.
    pub fn remember(
        &self,
        buffer: &mut Buffer,
        memory_bytes: usize,
        add: impl FnOnce(&mut ReadSet) -> usize,
    ) {
        self.counted(buffer, memory_bytes, |buffer, room| {
            buffer.remember(add, room);
        });
    }

    /// Does something with one that may take so many bytes more, and counts the bytes that it takes then.
    fn counted<T>(
        &self,
        buffer: &mut Buffer,
        memory_bytes: usize,
        act: impl FnOnce(&mut Buffer, usize) -> T,
    ) -> T {
        let mut by_client = self.by_client.borrow_mut();
        let taken = by_client.entry(buffer.client.clone()).or_default();
        let before = buffer.held();
        let room = (memory_bytes / CLIENT_PART).saturating_sub(taken.bytes);
        let done = act(buffer, room);
        taken.bytes = taken.bytes - before + buffer.held();
        done
    }

    /// Forgets those that were not used, or last too long.
    pub fn expire(&self, limits: &Limits) {
        let lasts = |buffer: &Buffer| {
            let is_used = buffer.used.elapsed() < limits.idle;
            buffer.is_committing || is_used && buffer.started.elapsed() < limits.time
        };
        let over: Vec<Version> = (self.buffers.borrow().iter())
            .filter(|(_, buffer)| !lasts(buffer))
            .map(|(txn, _)| *txn)
            .collect();
        self.expired.set(self.expired.get() + over.len() as u64);
        for txn in over {
            self.remove(txn);
        }
    }
}

impl Buffer {
    pub fn find(&self, place: &Place) -> Option<&Write> {
        self.writes.iter().find(|write| write.place == *place)
    }

    /// Bytes that it takes.
    fn held(&self) -> usize {
        self.bytes + self.read_bytes
    }

    /// The writes as yet.
    pub fn written(&self) -> Written {
        Written {
            writes: self.writes.len(),
            first: self.writes.first().map(|write| write.place.clone()),
        }
    }

    fn remember(&mut self, add: impl FnOnce(&mut ReadSet) -> usize, room: usize) {
        let more = add(&mut self.reads);
        self.read_bytes += more;
        if more > room || self.memory.grow(more).is_err() {
            self.reads.give_up();
        }
        if !self.reads.is_whole() {
            self.read_bytes = 0;
        }
        self.memory.set(self.held());
    }

    fn put(
        &mut self,
        limits: &Limits,
        (place, value): (&Place, Option<&Bytes>),
        room: usize,
    ) -> StepReply {
        let write = Write {
            place: place.clone(),
            value: value.cloned(),
        };
        let position = self.writes.iter().position(|known| known.place == *place);
        let before = position.map(|position| self.writes[position].size());
        let bytes = self.bytes - before.unwrap_or(0) + write.size();
        let keys = self.writes.len() + usize::from(before.is_none());
        if let Err(line) = limits.admit(keys, bytes) {
            return refused(413, line);
        }
        if bytes > self.bytes + room {
            let line = format!(
                "open transactions of {} have taken all the memory that they may: commit or abort some",
                self.client
            );
            return refused(503, line);
        }
        if bytes > self.bytes
            && let Err(failure) = self.memory.grow(bytes - self.bytes)
        {
            return refused(503, failure.to_string());
        }
        self.bytes = bytes;
        self.memory.set(self.held());
        match position {
            Some(position) => self.writes[position] = write,
            None => self.writes.push(write),
        }
        StepReply::Kept(self.written())
    }
}

#[cfg(test)]
#[path = "open_tests.rs"]
mod tests;
