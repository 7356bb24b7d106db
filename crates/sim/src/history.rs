//! What clients did and saw, in the one order in which it happened: values and real time, and
//! nothing that the system says of itself.

use std::fmt;

use bytes::Bytes;

/// Place in the order of all beginnings and ends.
pub type Moment = u64;

/// Which keyspace (by its place in the plan) and which of its keys.
pub type Place = (usize, u16);

/// How a write ended, as far as its client knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// Acknowledged.
    Acknowledged,
    /// Surely not written.
    Refused(String),
    /// It may have happened or not, now or later.
    Unknown(String),
}

/// What a conditional write asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// There is no value.
    Absent,
    /// There is one.
    Present,
    /// It is the value of this write.
    Value(u64),
}

/// What a client asked to be written: one wish, whatever number of attempts it took.
#[derive(Debug, Clone)]
pub struct Write {
    /// Unique in the run; the value begins with it.
    pub id: u64,
    /// Which key.
    pub place: Place,
    /// Whose wish.
    pub client: usize,
    /// Delete instead of put.
    pub delete: bool,
    /// Replicas that must acknowledge.
    pub ack: u8,
    /// Of how many.
    pub from: u8,
    /// The condition, if any.
    pub expect: Option<Expect>,
    /// Whether its value expires, after the run.
    pub expires: bool,
    /// After how many milliseconds its value expires, where that is within the run.
    pub ends_in_ms: Option<u64>,
    /// When it began.
    pub begun: Moment,
    /// The same in milliseconds since the beginning of the run.
    pub begun_ms: u64,
    /// Its attempts: when, at which host, and what came of them.
    pub attempts: Vec<(u64, usize, String)>,
    /// When and how it ended; empty while it is under way.
    pub ended: Option<(Moment, u64, Ended)>,
}

impl Write {
    /// A put without condition or expiry, that `ack` replicas of `from` must acknowledge.
    pub fn put(place: Place, client: usize, (ack, from): (u8, u8), begun_ms: u64) -> Write {
        Write {
            id: 0,
            place,
            client,
            delete: false,
            ack,
            from,
            expect: None,
            expires: false,
            ends_in_ms: None,
            begun: 0,
            begun_ms,
            attempts: Vec::new(),
            ended: None,
        }
    }
}

/// What a read found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// A value, with its write's number when it has one.
    Value(Option<u64>),
    /// No value.
    Nothing,
}

/// A read that was answered.
#[derive(Debug, Clone)]
pub struct Read {
    /// Which key.
    pub place: Place,
    /// Whose.
    pub client: usize,
    /// Which machine answered.
    pub host: usize,
    /// Replicas that answered.
    pub ack: u8,
    /// Replicas it chose from.
    pub from: u8,
    /// Part of a scan, not a read of one key.
    pub scan: bool,
    /// Made after all was whole again and replicas were equal.
    pub last: bool,
    /// When it began.
    pub begun: Moment,
    /// Milliseconds since the beginning of the run then.
    pub begun_ms: u64,
    /// When it was answered.
    pub ended: Moment,
    /// Milliseconds since the beginning of the run at its end.
    pub ended_ms: u64,
    /// What it found.
    pub seen: Seen,
}

/// Something that takes data from a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Power: what was not on disk.
    Power,
    /// The disk, or all that was written since an older copy of it.
    Disk,
    /// Nothing any more: the others have given back what it had lost.
    Refilled,
}

/// Everything that happened in a run.
#[derive(Debug, Default)]
pub struct History {
    /// All writes, in the order in which they began; a write's number is its place here.
    pub writes: Vec<Write>,
    /// All answered reads.
    pub reads: Vec<Read>,
    /// What hosts lost: when (milliseconds), which host, what.
    pub losses: Vec<(u64, usize, Loss)>,
    /// Machines on which an earlier process of a node runs beside a later one on another machine:
    /// since when (milliseconds), which machine, and whether it is so from then on.
    pub earlier: Vec<(u64, usize, bool)>,
    /// Machines whose clocks are years ahead: since when (milliseconds), which machine, and whether it
    /// is so from then on.
    pub years_ahead: Vec<(u64, usize, bool)>,
    /// Everything else worth telling, with its time in milliseconds.
    pub notes: Vec<(Moment, u64, String)>,
    /// Number of the last write acknowledged.
    pub last_acknowledged: Option<u64>,
    /// How many writes were acknowledged.
    pub acknowledged: u64,
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
        let mut hasher = Fnv(self.hash);
        // Writing into a hash cannot fail.
        let _ = fmt::write(&mut hasher, format_args!("{what:?}"));
        self.hash = hasher.0;
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

    /// Notes what a host lost.
    pub fn lose(&mut self, at_ms: u64, host: usize, loss: Loss) {
        self.mix((at_ms, host, loss));
        self.losses.push((at_ms, host, loss));
    }

    /// Notes that the process on a machine is now the earlier of two of one name, or is no more.
    pub fn earlier(&mut self, at_ms: u64, machine: usize, is_earlier: bool) {
        self.mix((at_ms, machine, is_earlier));
        self.earlier.push((at_ms, machine, is_earlier));
    }

    /// Whether what a machine answered then may come from the earlier of two processes of one name.
    pub fn is_earlier(&self, at_ms: u64, machine: usize) -> bool {
        is_so(&self.earlier, at_ms, machine)
    }

    /// Notes that the clock of a machine is years ahead from now on, or is not.
    pub fn years_ahead(&mut self, at_ms: u64, machine: usize, is_ahead: bool) {
        self.years_ahead.push((at_ms, machine, is_ahead));
    }

    /// Whether the clock of a machine was years ahead then.
    pub fn is_years_ahead(&self, at_ms: u64, machine: usize) -> bool {
        is_so(&self.years_ahead, at_ms, machine)
    }

    /// Begins a write; its number.
    pub fn begin_write(&mut self, mut write: Write) -> u64 {
        write.id = self.writes.len() as u64;
        write.begun = self.moment();
        self.mix((
            write.id,
            write.place,
            write.ack,
            write.from,
            write.delete,
            write.expect,
        ));
        let id = write.id;
        self.writes.push(write);
        id
    }

    /// Tells what came of an attempt.
    pub fn attempt(&mut self, id: u64, at_ms: u64, host: usize, text: String) {
        self.mix((id, at_ms, host));
        if let Some(write) = self.writes.get_mut(id as usize) {
            write.attempts.push((at_ms, host, text));
        }
    }

    /// Ends a write.
    pub fn end_write(&mut self, id: u64, at_ms: u64, ended: Ended) {
        let moment = self.moment();
        self.mix((id, at_ms, &ended));
        if let Some(write) = self.writes.get_mut(id as usize) {
            if ended == Ended::Acknowledged {
                self.last_acknowledged = Some(id);
                self.acknowledged += 1;
            }
            write.ended = Some((moment, at_ms, ended));
        }
    }

    /// Takes down an answered read.
    pub fn read(&mut self, read: Read) {
        self.mix((read.place, read.ended_ms, read.seen));
        self.reads.push(read);
    }
}

impl Write {
    /// When it was acknowledged, in the order of all things.
    pub fn acknowledged(&self) -> Option<Moment> {
        match &self.ended {
            Some((moment, _, Ended::Acknowledged)) => Some(*moment),
            _ => None,
        }
    }

    /// When it was acknowledged, in milliseconds.
    pub fn acknowledged_ms(&self) -> Option<u64> {
        match &self.ended {
            Some((_, at_ms, Ended::Acknowledged)) => Some(*at_ms),
            _ => None,
        }
    }

    /// Whether its client was told that it surely did not happen.
    pub fn is_refused(&self) -> bool {
        matches!(self.ended, Some((_, _, Ended::Refused(_))))
    }
}

/// What was noted last of a machine up to a time.
fn is_so(changes: &[(u64, usize, bool)], at_ms: u64, machine: usize) -> bool {
    let mut changes = changes.iter();
    changes
        .rfind(|(since_ms, of, _)| *since_ms <= at_ms && *of == machine)
        .is_some_and(|(_, _, is_so)| *is_so)
}

struct Fnv(u64);

impl fmt::Write for Fnv {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(())
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
