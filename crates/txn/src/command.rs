//! An entry of a range's log, as value and as bytes. Pure.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_entry::{Origin, Stamp, Version};
use dunlin_proto::Condition;

/// A key with its new value, or none: it is deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The key.
    pub key: Bytes,
    /// Its value; none deletes it.
    pub value: Option<Bytes>,
}

/// What must hold of a key when its transaction commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The key.
    pub key: Bytes,
    /// What must hold of it.
    pub condition: Condition,
}

/// The name that a client gives a transaction, so that a repeat of it does not happen twice.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    /// When it was given, in milliseconds: its record goes when the watermark has passed it.
    pub ms: u64,
    /// The name, its time among it.
    pub name: Bytes,
    /// Checksum of what the client asked for.
    pub body: u64,
}

/// Why a transaction with a name has no effect, nor will any other attempt at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Others were in its way, or it was given up.
    Conflict,
    /// Its check of this number does not hold; the version there is, if there is a value.
    CheckFailed(u32, Option<Version>),
}

/// What the replicas of a range do, in the order of its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// One key is written at a timestamp if a condition holds.
    Write {
        /// The timestamp, which becomes its version.
        at: Version,
        /// What must hold of the key.
        condition: Condition,
        /// What is written.
        write: Write,
    },
    /// A transaction commits here: its own writes here and its record.
    Commit {
        /// The transaction.
        txn: Version,
        /// The other ranges that have intents of it.
        participants: Vec<u64>,
        /// What must hold of keys here.
        checks: Vec<Check>,
        /// What it writes here.
        writes: Vec<Write>,
        /// What its client calls it.
        id: Option<Id>,
    },
    /// A name belongs to its body from now on; another body under it is refused.
    Reserve {
        /// The name.
        id: Id,
    },
    /// No attempt under this name has an effect, unless one has committed.
    Close {
        /// The name.
        id: Id,
        /// Why.
        refusal: Refusal,
    },
    /// Intents of a transaction are placed, all or none.
    Place {
        /// The transaction.
        txn: Version,
        /// The range that holds its record.
        holder: u64,
        /// What must hold of keys here.
        checks: Vec<Check>,
        /// What it writes here.
        writes: Vec<Write>,
    },
    /// All intents of a transaction become versions, or go.
    Finalize {
        /// The transaction.
        txn: Version,
        /// Whether it has committed.
        is_committed: bool,
    },
    /// A transaction is aborted here, at the holder of its record, unless it has committed.
    Abort {
        /// The transaction.
        txn: Version,
    },
    /// All participants of these transactions have applied that they committed.
    Finished {
        /// The transactions.
        txns: Vec<Version>,
    },
    /// Nothing at or below this timestamp is read, written or asked for any more.
    Watermark {
        /// The timestamp.
        to: Version,
    },
    /// The keyspace was dropped or undropped so often, each of them counted: it is dropped where that is odd. While it is,
    /// nothing is written or committed here, and transactions without a record by then are aborted.
    Dropped {
        /// How often; a smaller number than before says nothing.
        count: u64,
    },
    /// Whoever leads later writes above this timestamp: up to it, who leads now may let be read without asking others.
    Lease {
        /// The timestamp.
        until: Version,
    },
}

impl Refusal {
    pub(crate) fn encode(self, out: &mut impl BufMut) {
        match self {
            Refusal::Conflict => out.put_u8(0),
            Refusal::CheckFailed(number, version) => {
                out.put_u8(1);
                out.put_u32_le(number);
                out.put_u64_le(version.unwrap_or_default().0);
            }
        }
    }

    pub(crate) fn decode(from: &mut Bytes) -> Result<Refusal, Malformed> {
        match from.try_get_u8() {
            Ok(0) => Ok(Refusal::Conflict),
            Ok(1) => {
                let number = from.try_get_u32_le().map_err(short)?;
                Ok(Refusal::CheckFailed(number, some(version(from)?)))
            }
            _ => Err(Malformed("a refusal is unknown")),
        }
    }
}

/// Bytes that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("malformed bytes: {0}")]
pub struct Malformed(pub(crate) &'static str);

const WRITE: u8 = 1;
const COMMIT: u8 = 2;
const PLACE: u8 = 3;
const FINALIZE: u8 = 4;
const ABORT: u8 = 5;
const FINISHED: u8 = 6;
const WATERMARK: u8 = 7;
const CLOSE: u8 = 8;
const LEASE: u8 = 9;
const RESERVE: u8 = 10;
const DROPPED: u8 = 11;

impl Command {
    /// Whether it writes values of clients, which may be large.
    pub fn has_values(&self) -> bool {
        match self {
            Command::Write { .. } | Command::Place { .. } => true,
            Command::Commit { writes, .. } => !writes.is_empty(),
            _ => false,
        }
    }

    /// The timestamp of an entry that writes to keys, what it checks and what it writes; none where it writes to none of
    /// its own.
    pub fn at_keys(&self) -> Option<(Version, &[Check], &[Write])> {
        match self {
            Command::Write { at, write, .. } => Some((*at, &[], std::slice::from_ref(write))),
            Command::Commit {
                txn,
                checks,
                writes,
                ..
            }
            | Command::Place {
                txn,
                checks,
                writes,
                ..
            } => Some((*txn, checks, writes)),
            Command::Reserve { .. }
            | Command::Close { .. }
            | Command::Finalize { .. }
            | Command::Abort { .. }
            | Command::Finished { .. }
            | Command::Watermark { .. }
            | Command::Dropped { .. }
            | Command::Lease { .. } => None,
        }
    }

    /// As it stands in the log.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = BytesMut::with_capacity(64);
        match self {
            Command::Write {
                at,
                condition,
                write,
            } => {
                out.put_u8(WRITE);
                out.put_u64_le(at.0);
                put_condition(&mut out, *condition);
                put_write(&mut out, write);
            }
            Command::Commit {
                txn,
                participants,
                checks,
                writes,
                id,
            } => {
                out.put_u8(COMMIT);
                out.put_u64_le(txn.0);
                put_numbers(&mut out, participants);
                put_checks(&mut out, checks);
                put_writes(&mut out, writes);
                put_id_option(&mut out, id.as_ref());
            }
            Command::Reserve { id } => {
                out.put_u8(RESERVE);
                put_id(&mut out, id);
            }
            Command::Close { id, refusal } => {
                out.put_u8(CLOSE);
                put_id(&mut out, id);
                refusal.encode(&mut out);
            }
            Command::Place {
                txn,
                holder,
                checks,
                writes,
            } => {
                out.put_u8(PLACE);
                out.put_u64_le(txn.0);
                out.put_u64_le(*holder);
                put_checks(&mut out, checks);
                put_writes(&mut out, writes);
            }
            Command::Finalize { txn, is_committed } => {
                out.put_u8(FINALIZE);
                out.put_u64_le(txn.0);
                out.put_u8((*is_committed).into());
            }
            Command::Abort { txn } => {
                out.put_u8(ABORT);
                out.put_u64_le(txn.0);
            }
            Command::Finished { txns } => {
                out.put_u8(FINISHED);
                out.put_u32_le(txns.len() as u32);
                for txn in txns {
                    out.put_u64_le(txn.0);
                }
            }
            Command::Watermark { to } => {
                out.put_u8(WATERMARK);
                out.put_u64_le(to.0);
            }
            Command::Dropped { count } => {
                out.put_u8(DROPPED);
                out.put_u64_le(*count);
            }
            Command::Lease { until } => {
                out.put_u8(LEASE);
                out.put_u64_le(until.0);
            }
        }
        out.into()
    }

    /// Out of the log.
    ///
    /// # Errors
    /// When the bytes are no command's.
    pub fn decode(mut from: Bytes) -> Result<Command, Malformed> {
        let from = &mut from;
        let command = match from.try_get_u8().map_err(short)? {
            WRITE => Command::Write {
                at: version(from)?,
                condition: condition(from)?,
                write: write(from)?,
            },
            COMMIT => Command::Commit {
                txn: version(from)?,
                participants: numbers(from)?,
                checks: checks(from)?,
                writes: writes(from)?,
                id: id_option(from)?,
            },
            RESERVE => Command::Reserve { id: id(from)? },
            CLOSE => Command::Close {
                id: id(from)?,
                refusal: Refusal::decode(from)?,
            },
            PLACE => Command::Place {
                txn: version(from)?,
                holder: number(from)?,
                checks: checks(from)?,
                writes: writes(from)?,
            },
            FINALIZE => Command::Finalize {
                txn: version(from)?,
                is_committed: from.try_get_u8().map_err(short)? != 0,
            },
            ABORT => Command::Abort {
                txn: version(from)?,
            },
            FINISHED => Command::Finished {
                txns: numbers(from)?.into_iter().map(Version).collect(),
            },
            WATERMARK => Command::Watermark { to: version(from)? },
            DROPPED => Command::Dropped {
                count: number(from)?,
            },
            LEASE => Command::Lease {
                until: version(from)?,
            },
            _ => return Err(Malformed("its kind is unknown")),
        };
        if !from.has_remaining() {
            Ok(command)
        } else {
            Err(Malformed("there is more than it says"))
        }
    }
}

fn short<E>(_: E) -> Malformed {
    Malformed("it is cut short")
}

pub(crate) fn put_condition(out: &mut BytesMut, condition: Condition) {
    match condition {
        Condition::None => out.put_u8(0),
        Condition::Absent => out.put_u8(1),
        Condition::Present => out.put_u8(2),
        Condition::Is(stamp) => {
            out.put_u8(3);
            out.put_u64_le(stamp.version.0);
            out.put_u64_le(stamp.origin.0);
        }
    }
}

pub(crate) fn put_numbers(out: &mut BytesMut, numbers: &[u64]) {
    out.put_u32_le(numbers.len() as u32);
    for number in numbers {
        out.put_u64_le(*number);
    }
}

/// Bytes behind their length, as they stand in entries and messages.
pub fn put_bytes(out: &mut BytesMut, bytes: &[u8]) {
    out.put_u32_le(bytes.len() as u32);
    out.put_slice(bytes);
}

pub(crate) fn put_write(out: &mut BytesMut, write: &Write) {
    put_bytes(out, &write.key);
    out.put_u8(write.value.is_some().into());
    if let Some(value) = &write.value {
        put_bytes(out, value);
    }
}

pub(crate) fn put_checks(out: &mut BytesMut, checks: &[Check]) {
    out.put_u32_le(checks.len() as u32);
    for Check { key, condition } in checks {
        put_bytes(out, key);
        put_condition(out, *condition);
    }
}

pub(crate) fn put_writes(out: &mut BytesMut, writes: &[Write]) {
    out.put_u32_le(writes.len() as u32);
    for write in writes {
        put_write(out, write);
    }
}

pub(crate) fn put_id(out: &mut BytesMut, id: &Id) {
    out.put_u64_le(id.ms);
    put_bytes(out, &id.name);
    out.put_u64_le(id.body);
}

pub(crate) fn put_id_option(out: &mut BytesMut, id: Option<&Id>) {
    out.put_u8(id.is_some().into());
    if let Some(id) = id {
        put_id(out, id);
    }
}

pub(crate) fn id(from: &mut Bytes) -> Result<Id, Malformed> {
    Ok(Id {
        ms: number(from)?,
        name: bytes(from)?,
        body: number(from)?,
    })
}

pub(crate) fn id_option(from: &mut Bytes) -> Result<Option<Id>, Malformed> {
    match from.try_get_u8().map_err(short)? {
        0 => Ok(None),
        _ => id(from).map(Some),
    }
}

pub(crate) fn number(from: &mut Bytes) -> Result<u64, Malformed> {
    from.try_get_u64_le().map_err(short)
}

pub(crate) fn version(from: &mut Bytes) -> Result<Version, Malformed> {
    number(from).map(Version)
}

/// A version as it travels where there may be none: 0.
pub(crate) fn some(version: Version) -> Option<Version> {
    (version != Version(0)).then_some(version)
}

pub(crate) fn numbers(from: &mut Bytes) -> Result<Vec<u64>, Malformed> {
    let count = from.try_get_u32_le().map_err(short)? as usize;
    if count > from.len() / 8 {
        return Err(Malformed("it is cut short"));
    }
    (0..count).map(|_| number(from)).collect()
}

pub(crate) fn condition(from: &mut Bytes) -> Result<Condition, Malformed> {
    Ok(match from.try_get_u8().map_err(short)? {
        0 => Condition::None,
        1 => Condition::Absent,
        2 => Condition::Present,
        3 => Condition::Is(Stamp {
            version: version(from)?,
            origin: Origin(number(from)?),
        }),
        _ => return Err(Malformed("its condition is unknown")),
    })
}

/// The same back.
///
/// # Errors
/// When there are fewer.
pub fn bytes(from: &mut Bytes) -> Result<Bytes, Malformed> {
    let length = from.try_get_u32_le().map_err(short)? as usize;
    if length <= from.len() {
        Ok(from.split_to(length))
    } else {
        Err(Malformed("it is cut short"))
    }
}

pub(crate) fn write(from: &mut Bytes) -> Result<Write, Malformed> {
    let key = bytes(from)?;
    let value = match from.try_get_u8().map_err(short)? {
        0 => None,
        _ => Some(bytes(from)?),
    };
    Ok(Write { key, value })
}

pub(crate) fn checks(from: &mut Bytes) -> Result<Vec<Check>, Malformed> {
    let check = |from: &mut Bytes| {
        Ok(Check {
            key: bytes(from)?,
            condition: condition(from)?,
        })
    };
    let count = count(from)?;
    (0..count).map(|_| check(from)).collect()
}

pub(crate) fn writes(from: &mut Bytes) -> Result<Vec<Write>, Malformed> {
    let count = count(from)?;
    (0..count).map(|_| write(from)).collect()
}

/// A count of keys with something.
fn count(from: &mut Bytes) -> Result<usize, Malformed> {
    let count = from.try_get_u32_le().map_err(short)? as usize;
    if count > from.len() / 5 {
        Err(Malformed("it is cut short"))
    } else {
        Ok(count)
    }
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
