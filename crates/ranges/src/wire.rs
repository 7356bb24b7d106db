//! Requests of other shards and their answers, as bytes.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_entry::Version;

/// Messages between replicas.
pub(crate) const MESSAGES: u8 = 1;
/// Write here, at the leader.
pub(crate) const WRITE: u8 = 2;
/// Read here, at the leader.
pub(crate) const READ: u8 = 3;
/// Read a page here, at the leader.
pub(crate) const PAGE: u8 = 4;
/// Whether the range is led from here, and serves.
pub(crate) const LEADS: u8 = 5;
/// All rows of a range.
pub(crate) const SNAPSHOT: u8 = 6;

/// Bytes that are none of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed bytes from another shard")]
pub(crate) struct Malformed;

/// What is asked of a leader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asked {
    /// A command, encoded, of a keyspace.
    Write(u32, Bytes),
    /// A key of a keyspace.
    Read(u32, Bytes),
    /// Keys of a keyspace from the first to before the second.
    Page(u32, Bytes, Option<Bytes>),
    /// Whether it leads a keyspace.
    Leads(u32),
}

/// What it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It happened, with this version.
    Done(Version),
    /// The condition does not hold; the version there is.
    ConditionFailed(Option<Version>),
    /// Its version would be above its deadline.
    TooLate(Version),
    /// Another leads, this one if it is known; nothing happened.
    NotLeader(Option<u64>),
    /// Too much is under way; nothing happened.
    Busy,
    /// The clock there is not to be trusted; nothing happened.
    Clock,
    /// Whether it happened is not known.
    Unknown,
    /// The replica has failed; nothing happened.
    Failed(String),
    /// A value with its version, where there is one.
    Value(Option<(Version, Bytes)>),
    /// Keys with versions and values, and where the next page begins.
    Page(Vec<(Bytes, Version, Bytes)>, Option<Bytes>),
}

impl Asked {
    pub fn keyspace(&self) -> u32 {
        match self {
            Asked::Write(keyspace, _)
            | Asked::Read(keyspace, _)
            | Asked::Page(keyspace, _, _)
            | Asked::Leads(keyspace) => *keyspace,
        }
    }

    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        let head = |out: &mut BytesMut, kind, keyspace: u32| {
            out.put_u8(kind);
            out.put_u32_le(keyspace);
        };
        match self {
            Asked::Write(keyspace, command) => {
                out.reserve(5 + command.len());
                head(&mut out, WRITE, *keyspace);
                out.put_slice(command);
            }
            Asked::Read(keyspace, key) => {
                head(&mut out, READ, *keyspace);
                out.put_slice(key);
            }
            Asked::Page(keyspace, start, end) => {
                head(&mut out, PAGE, *keyspace);
                put_bytes(&mut out, start);
                put_option(&mut out, end.as_ref());
            }
            Asked::Leads(keyspace) => head(&mut out, LEADS, *keyspace),
        }
        out.freeze()
    }

    pub fn decode(kind: u8, mut from: Bytes) -> Result<Asked, Malformed> {
        let from = &mut from;
        let keyspace = from.try_get_u32_le().map_err(|_| Malformed)?;
        Ok(match kind {
            WRITE => Asked::Write(keyspace, std::mem::take(from)),
            READ => Asked::Read(keyspace, std::mem::take(from)),
            PAGE => Asked::Page(keyspace, get_bytes(from)?, get_option(from)?),
            LEADS => Asked::Leads(keyspace),
            _ => return Err(Malformed),
        })
    }
}

impl Answer {
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        match self {
            Answer::Done(version) => {
                out.put_u8(1);
                out.put_u64_le(version.0);
            }
            Answer::ConditionFailed(version) => {
                out.put_u8(2);
                out.put_u64_le(version.map_or(0, |version| version.0));
            }
            Answer::TooLate(version) => {
                out.put_u8(3);
                out.put_u64_le(version.0);
            }
            Answer::NotLeader(leader) => {
                out.put_u8(4);
                out.put_u64_le(leader.unwrap_or(0));
            }
            Answer::Busy => out.put_u8(5),
            Answer::Clock => out.put_u8(6),
            Answer::Unknown => out.put_u8(7),
            Answer::Failed(why) => {
                out.put_u8(8);
                out.put_slice(why.as_bytes());
            }
            Answer::Value(None) => out.put_u8(9),
            Answer::Value(Some((version, value))) => {
                out.reserve(9 + value.len());
                out.put_u8(10);
                out.put_u64_le(version.0);
                out.put_slice(value);
            }
            Answer::Page(items, next) => {
                out.put_u8(11);
                put_option(&mut out, next.as_ref());
                for (key, version, value) in items {
                    put_bytes(&mut out, key);
                    out.put_u64_le(version.0);
                    put_bytes(&mut out, value);
                }
            }
        }
        out.freeze()
    }

    pub fn decode(mut from: Bytes) -> Result<Answer, Malformed> {
        let from = &mut from;
        let kind = from.try_get_u8().map_err(|_| Malformed)?;
        let number = |from: &mut Bytes| from.try_get_u64_le().map_err(|_| Malformed);
        let some = |number: u64| (number != 0).then_some(number);
        Ok(match kind {
            1 => Answer::Done(Version(number(from)?)),
            2 => Answer::ConditionFailed(some(number(from)?).map(Version)),
            3 => Answer::TooLate(Version(number(from)?)),
            4 => Answer::NotLeader(some(number(from)?)),
            5 => Answer::Busy,
            6 => Answer::Clock,
            7 => Answer::Unknown,
            8 => Answer::Failed(String::from_utf8_lossy(from).into_owned()),
            9 => Answer::Value(None),
            10 => Answer::Value(Some((Version(number(from)?), std::mem::take(from)))),
            11 => {
                let next = get_option(from)?;
                let mut items = Vec::new();
                while from.has_remaining() {
                    let key = get_bytes(from)?;
                    items.push((key, Version(number(from)?), get_bytes(from)?));
                }
                Answer::Page(items, next)
            }
            _ => return Err(Malformed),
        })
    }
}

pub(crate) fn put_bytes(out: &mut BytesMut, bytes: &[u8]) {
    out.put_u32_le(bytes.len() as u32);
    out.put_slice(bytes);
}

pub(crate) fn get_bytes(from: &mut Bytes) -> Result<Bytes, Malformed> {
    let length = from.try_get_u32_le().map_err(|_| Malformed)? as usize;
    match length <= from.len() {
        true => Ok(from.split_to(length)),
        false => Err(Malformed),
    }
}

fn put_option(out: &mut BytesMut, bytes: Option<&Bytes>) {
    out.put_u8(bytes.is_some().into());
    if let Some(bytes) = bytes {
        put_bytes(out, bytes);
    }
}

fn get_option(from: &mut Bytes) -> Result<Option<Bytes>, Malformed> {
    match from.try_get_u8().map_err(|_| Malformed)? {
        0 => Ok(None),
        _ => get_bytes(from).map(Some),
    }
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
