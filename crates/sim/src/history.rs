//! What clients did and saw, in the one order in which it happened.

use std::fmt;

use bytes::Bytes;
use dunlin_store::Stamp;

/// Place in the order of all beginnings and ends.
pub type Moment = u64;

/// Which keyspace (by its place in the plan) and which of its keys.
pub type Place = (usize, u16);

/// How a write ended, as far as its client knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// Acknowledged under this stamp.
    Acknowledged(Stamp),
    /// Not written: its condition did not hold.
    ConditionFailed,
    /// An error, or a crash of its coordinator: it may happen or not, now or later.
    Unknown(String),
}

/// What a write was to do.
#[derive(Debug, Clone)]
pub struct Write {
    /// Unique in the run; the value begins with it.
    pub id: u64,
    /// Which key.
    pub place: Place,
    /// Coordinator, by its number among the hosts.
    pub host: usize,
    /// Delete instead of put.
    pub delete: bool,
    /// Replicas that must acknowledge.
    pub ack: u8,
    /// Replicas that get it.
    pub from: u8,
    /// The condition, in words; empty when there is none.
    pub condition: String,
    /// When it began.
    pub begun: Moment,
    /// The same in milliseconds since the beginning of the run.
    pub begun_ms: u64,
    /// When and how it ended; a crash of its coordinator leaves this empty.
    pub ended: Option<(Moment, u64, Ended)>,
}

/// What a read found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// A value, with its write's number when it has one.
    Value(Stamp, Option<u64>),
    /// A remembered delete.
    Deleted(Stamp),
    /// Nothing at all.
    Absent,
    /// No value; a scan does not tell why.
    Hidden,
}

/// A read that was answered.
#[derive(Debug, Clone)]
pub struct Read {
    /// Which key.
    pub place: Place,
    /// Coordinator.
    pub host: usize,
    /// Replicas that answered.
    pub ack: u8,
    /// Replicas it chose from.
    pub from: u8,
    /// What it was: a read, or part of a scan.
    pub scan: bool,
    /// When it began.
    pub begun: Moment,
    /// When it was answered.
    pub ended: Moment,
    /// Milliseconds since the beginning of the run at its end.
    pub ended_ms: u64,
    /// What it found.
    pub seen: Seen,
}

/// Everything that happened in a run.
#[derive(Debug, Default)]
pub struct History {
    /// All writes, in the order in which they began; a write's number is its place here.
    pub writes: Vec<Write>,
    /// All answered reads.
    pub reads: Vec<Read>,
    /// Everything else worth telling, with its time in milliseconds.
    pub notes: Vec<(Moment, u64, String)>,
    /// Number of the last write acknowledged.
    pub last_acknowledged: Option<u64>,
    next: Moment,
    hash: u64,
}

impl History {
    /// The next place in the order.
    pub fn moment(&mut self) -> Moment {
        self.next += 1;
        self.next
    }

    /// Mixes something that happened into the trace.
    pub fn mix(&mut self, what: impl fmt::Debug) {
        // FNV-1a: stable for ever, and no dependency.
        if self.hash == 0 {
            self.hash = 0xcbf2_9ce4_8422_2325;
        }
        for byte in format!("{what:?}").bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// The trace so far, as one number.
    pub fn trace_hash(&self) -> u64 {
        self.hash
    }

    /// Notes a fault or another event.
    pub fn note(&mut self, at_ms: u64, text: String) {
        tracing::info!(at_ms, "{text}");
        self.mix((at_ms, &text));
        let moment = self.moment();
        self.notes.push((moment, at_ms, text));
    }

    /// Ends a write.
    pub fn end_write(&mut self, id: u64, at_ms: u64, ended: Ended) {
        let moment = self.moment();
        self.mix((id, at_ms, &ended));
        if let Some(write) = self.writes.get_mut(id as usize) {
            if let Ended::Acknowledged(_) = ended {
                self.last_acknowledged = Some(id);
            }
            write.ended = Some((moment, at_ms, ended));
        }
    }

    /// Takes down an answered read.
    pub fn read(&mut self, read: Read) {
        self.mix((read.place, read.ended_ms, &read.seen));
        self.reads.push(read);
    }
}

impl Write {
    /// Its stamp, if it was acknowledged.
    pub fn stamp(&self) -> Option<Stamp> {
        match &self.ended {
            Some((_, _, Ended::Acknowledged(stamp))) => Some(*stamp),
            _ => None,
        }
    }

    /// When it was acknowledged.
    pub fn acknowledged(&self) -> Option<Moment> {
        match &self.ended {
            Some((moment, _, Ended::Acknowledged(_))) => Some(*moment),
            _ => None,
        }
    }
}

/// The value of a write: its number, then as much more as wanted.
pub fn value_of(id: u64, bytes: usize) -> Bytes {
    let mut value = id.to_le_bytes().to_vec();
    value.resize(bytes.max(8), id as u8);
    value.into()
}

/// The number of the write a value came from.
pub fn write_of(value: &[u8]) -> Option<u64> {
    value.first_chunk().map(|id| u64::from_le_bytes(*id))
}

/// The name of a key.
pub fn key_name(key: u16) -> Bytes {
    format!("key-{key:03}").into_bytes().into()
}
