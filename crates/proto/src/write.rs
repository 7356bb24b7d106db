//! A change on its way to the replica that will log it first.

use bytes::{BufMut, Bytes, BytesMut};
use dunlin_entry::{Kind, Replaces, Stamp, Version};
use dunlin_message::DecodeError;

use crate::wire::*;

/// What must hold of the newest value for a write to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// Nothing.
    None,
    /// The key has no value.
    Absent,
    /// The key has a value, whichever.
    Present,
    /// The key's value has this stamp.
    Is(Stamp),
}

/// The timestamp of a write that was made in another cluster, or earlier in this one, and keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given {
    /// Version and origin.
    pub stamp: Stamp,
    /// It is the end of a value's time.
    pub is_expiry: bool,
}

/// Log `kind` of `key` here, answer when `ack` of the first `from` replicas have it.
#[derive(Debug, Clone)]
pub struct WriteRequest {
    /// Keyspace number.
    pub keyspace: u32,
    /// Put or delete.
    pub kind: Kind,
    /// Replicas that must have the entry before the answer.
    pub ack: u8,
    /// Replicas that get the entry at all.
    pub from: u8,
    /// What must hold first.
    pub condition: Condition,
    /// When the value goes, in milliseconds since 1970.
    pub expiry_ms: Option<u64>,
    /// The key.
    pub key: Bytes,
    /// The value; empty for a delete.
    pub value: Bytes,
    /// The greatest version it may be stamped with; [`Version::MAX`] when there is none.
    pub deadline: Version,
    /// It is stamped above this: what was given up before it cannot come back above it.
    pub floor: Version,
    /// A stamp far ahead that it is to stand above all the same; a mend is stamped but once.
    pub replaces: Option<Replaces>,
    /// It is given no timestamp here, but has this one.
    pub given: Option<Given>,
}

/// What became of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteAnswer {
    /// `ack` replicas have it under this stamp.
    Done(Stamp),
    /// The condition does not hold; the newest stamp, if there is a value.
    ConditionFailed(Option<Stamp>),
    /// Logged here, but too few replicas answered in time.
    NotEnough {
        /// Replicas that have it.
        got: u8,
    },
    /// The log takes nothing now; nothing was written.
    Refused(Refusal),
    /// Any stamp would be above the deadline; nothing was written. The hybrid clock here.
    TooLate(Version),
    /// A conditional write was logged and met something newer: it is not stamped again, and
    /// whether anybody saw it is not known.
    Overtaken,
    /// It met a value stamped so far ahead that nothing may be stamped above it before a mend; it
    /// may be logged.
    Beyond(Stamp),
    /// It has a given timestamp, and that record or a newer one, with this timestamp, is on a majority of the replicas already.
    Held(Stamp),
}

/// Why a shard takes no writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The disk is full: make room, it recovers by itself.
    NoSpace,
    /// A write or sync failed: the node must be restarted.
    LogFailed,
    /// Too much is waiting to be written: try again.
    Busy,
    /// This node does not know the keyspace (yet, or any more).
    UnknownKeyspace,
    /// The clock here is too far from the others', or not compared with them yet.
    Clock,
}

impl WriteRequest {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u32_le(self.keyspace);
        out.put_u8(match self.kind {
            Kind::Put => 1,
            _ => 2,
        });
        out.put_u8(self.ack);
        out.put_u8(self.from);
        match self.condition {
            Condition::None => out.put_u8(0),
            Condition::Absent => out.put_u8(1),
            Condition::Present => out.put_u8(2),
            Condition::Is(stamp) => {
                out.put_u8(3);
                put_stamp(out, stamp);
            }
        }
        put_option_u64(out, self.expiry_ms);
        put_bytes(out, &self.key);
        put_bytes(out, &self.value);
        out.put_u64_le(self.deadline.0);
        out.put_u64_le(self.floor.0);
        put_replaces(out, self.replaces);
        match self.given {
            None => out.put_u8(0),
            Some(given) => {
                out.put_u8(1 + u8::from(given.is_expiry));
                put_stamp(out, given.stamp);
            }
        }
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let body = &mut body;
        Ok(WriteRequest {
            keyspace: get_u32(body)?,
            kind: match get_u8(body)? {
                1 => Kind::Put,
                2 => Kind::Delete,
                kind => return Err(malformed(format!("unknown kind of write {kind}"))),
            },
            ack: get_u8(body)?,
            from: get_u8(body)?,
            condition: match get_u8(body)? {
                0 => Condition::None,
                1 => Condition::Absent,
                2 => Condition::Present,
                3 => Condition::Is(get_stamp(body)?),
                kind => return Err(malformed(format!("unknown condition {kind}"))),
            },
            expiry_ms: get_option_u64(body)?,
            key: get_bytes(body)?,
            value: get_bytes(body)?,
            deadline: Version(get_u64(body)?),
            floor: Version(get_u64(body)?),
            replaces: get_replaces(body)?,
            given: match get_u8(body)? {
                0 => None,
                flag @ (1 | 2) => Some(Given {
                    stamp: get_stamp(body)?,
                    is_expiry: flag == 2,
                }),
                flag => {
                    return Err(malformed(format!(
                        "unknown flag of a given timestamp {flag}"
                    )));
                }
            },
        })
    }
}

impl WriteAnswer {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        match self {
            WriteAnswer::Done(stamp) => {
                out.put_u8(1);
                put_stamp(out, *stamp);
            }
            WriteAnswer::ConditionFailed(None) => out.put_u8(2),
            WriteAnswer::ConditionFailed(Some(stamp)) => {
                out.put_u8(3);
                put_stamp(out, *stamp);
            }
            WriteAnswer::NotEnough { got } => {
                out.put_u8(4);
                out.put_u8(*got);
            }
            WriteAnswer::Refused(refusal) => {
                out.put_u8(5);
                out.put_u8(*refusal as u8);
            }
            WriteAnswer::TooLate(clock) => {
                out.put_u8(6);
                out.put_u64_le(clock.0);
            }
            WriteAnswer::Overtaken => out.put_u8(7),
            WriteAnswer::Beyond(stamp) => {
                out.put_u8(8);
                put_stamp(out, *stamp);
            }
            WriteAnswer::Held(held) => {
                out.put_u8(9);
                put_stamp(out, *held);
            }
        }
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let body = &mut body;
        Ok(match get_u8(body)? {
            1 => WriteAnswer::Done(get_stamp(body)?),
            2 => WriteAnswer::ConditionFailed(None),
            3 => WriteAnswer::ConditionFailed(Some(get_stamp(body)?)),
            4 => WriteAnswer::NotEnough { got: get_u8(body)? },
            5 => WriteAnswer::Refused(match get_u8(body)? {
                0 => Refusal::NoSpace,
                1 => Refusal::LogFailed,
                2 => Refusal::Busy,
                3 => Refusal::UnknownKeyspace,
                4 => Refusal::Clock,
                code => return Err(malformed(format!("unknown refusal {code}"))),
            }),
            6 => WriteAnswer::TooLate(Version(get_u64(body)?)),
            7 => WriteAnswer::Overtaken,
            8 => WriteAnswer::Beyond(get_stamp(body)?),
            9 => WriteAnswer::Held(get_stamp(body)?),
            kind => return Err(malformed(format!("unknown answer to a write {kind}"))),
        })
    }
}
