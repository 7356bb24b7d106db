//! Record: what RocksDB holds for a key (`docs/formats.md`, section 3).
//!
//! `flags u8 | from u8 | version u64 | origin u64 | [expiry_ms u64] | [replaces: version u64 |
//! origin u64] | [position: sequence u64 | origin u64] | user value`. Everything a conflict or a read needs stands before the value: never
//! a second lookup.

use bytes::Bytes;
use dunlin_entry::{DecodeError, Entry, Kind, Origin, Position, Rank, Replaces, Stamp, Version};

const FLAG_EXPIRY: u8 = 1;
const FLAG_TOMBSTONE: u8 = 2;
const FLAG_REPLACES: u8 = 4;
const FLAG_MEND: u8 = 8;
const FLAG_EXPIRED: u8 = 16;
pub(crate) const FLAG_POSITION: u8 = 32;
const HEADER_BYTES: usize = 18;

/// A stored value or tombstone with what is known about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versioned {
    /// Version and origin of the entry that wrote it.
    pub stamp: Stamp,
    /// How many of the partition's replicas should hold it.
    pub from: u8,
    /// Whether it remembers a delete.
    pub tombstone: bool,
    /// A delete that nobody asked for: the time of the value with this very stamp is over.
    pub is_expiry: bool,
    /// Milliseconds since 1970 after which the value is gone.
    pub expiry_ms: Option<u64>,
    /// A stamp far ahead that it stands above all the same.
    pub replaces: Option<Replaces>,
    /// Its place in its origin's log, if its version and origin do not say that.
    pub logged: Option<Box<Position>>,
    /// The user's value; empty for a tombstone.
    pub value: Bytes,
}

impl Versioned {
    /// The value as a reader at `now_ms` (milliseconds since 1970) sees it: `None` when it was
    /// deleted or has expired.
    pub fn visible(&self, now_ms: u64) -> Option<&Bytes> {
        let expired = self.expiry_ms.is_some_and(|expiry_ms| expiry_ms <= now_ms);
        (!self.tombstone && !expired).then_some(&self.value)
    }

    /// Decides whether it wins its key.
    pub fn rank(&self) -> Rank {
        Rank::new(self.stamp, self.replaces).with_expiry(self.is_expiry)
    }
}

/// A stored record read in place: a [`Versioned`] that owns nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// See [`Versioned::stamp`].
    pub stamp: Stamp,
    /// See [`Versioned::from`].
    pub from: u8,
    /// See [`Versioned::tombstone`].
    pub tombstone: bool,
    /// See [`Versioned::is_expiry`].
    pub is_expiry: bool,
    /// See [`Versioned::expiry_ms`].
    pub expiry_ms: Option<u64>,
    /// See [`Versioned::replaces`].
    pub replaces: Option<Replaces>,
    /// See [`Versioned::logged`].
    pub logged: Option<Position>,
    /// See [`Versioned::value`].
    pub value: &'a [u8],
}

impl<'a> Record<'a> {
    /// Reads a stored record.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let short = |need| DecodeError::Short {
            what: "a stored record",
            need,
            have: bytes.len(),
        };
        if bytes.len() < HEADER_BYTES {
            return Err(short(HEADER_BYTES));
        }
        let flags = bytes[0];
        let known =
            FLAG_EXPIRY | FLAG_TOMBSTONE | FLAG_REPLACES | FLAG_MEND | FLAG_EXPIRED | FLAG_POSITION;
        let is_without = |flag, others| flags & flag != 0 && flags & others != others;
        if flags & !known != 0
            || is_without(FLAG_MEND, FLAG_REPLACES)
            || is_without(FLAG_EXPIRED, FLAG_TOMBSTONE | FLAG_EXPIRY)
        {
            return Err(DecodeError::Unknown {
                field: "flags of a stored record",
                value: flags.into(),
            });
        }
        let mut value_at = HEADER_BYTES;
        let mut expiry_ms = None;
        if flags & FLAG_EXPIRY != 0 {
            value_at += 8;
            if bytes.len() < value_at {
                return Err(short(value_at));
            }
            expiry_ms = Some(u64_at(bytes, HEADER_BYTES));
        }
        let mut replaces = None;
        if flags & FLAG_REPLACES != 0 {
            let stamp = value_at;
            value_at += 16;
            if bytes.len() < value_at {
                return Err(short(value_at));
            }
            replaces = Some(Replaces {
                stamp: stamp_at(bytes, stamp),
                is_mend: flags & FLAG_MEND != 0,
            });
        }
        let mut logged = None;
        if flags & FLAG_POSITION != 0 {
            let at = value_at;
            value_at += 16;
            if bytes.len() < value_at {
                return Err(short(value_at));
            }
            logged = Some(stamp_at(bytes, at).into());
        }
        Ok(Self {
            stamp: stamp_at(bytes, 2),
            from: bytes[1],
            tombstone: flags & FLAG_TOMBSTONE != 0,
            is_expiry: flags & FLAG_EXPIRED != 0,
            expiry_ms,
            replaces,
            logged,
            value: &bytes[value_at..],
        })
    }

    /// Replaces `out` with the record an entry leaves. A tombstone keeps no value, and an expiry only
    /// where that is what it remembers.
    pub fn encode(out: &mut Vec<u8>, entry: &Entry) {
        let tombstone = entry.kind == Kind::Delete;
        let expiry_ms = entry.expiry_ms.filter(|_| !tombstone || entry.is_expiry);
        let mut flags = 0;
        if tombstone && entry.is_expiry {
            flags |= FLAG_EXPIRED;
        }
        if expiry_ms.is_some() {
            flags |= FLAG_EXPIRY;
        }
        if tombstone {
            flags |= FLAG_TOMBSTONE;
        }
        flags |= entry.replaces.map_or(0, |replaces| {
            if replaces.is_mend {
                FLAG_REPLACES | FLAG_MEND
            } else {
                FLAG_REPLACES
            }
        });
        if entry.logged.is_some() {
            flags |= FLAG_POSITION;
        }
        out.clear();
        out.push(flags);
        out.push(entry.from);
        out.extend_from_slice(&entry.stamp.version.0.to_le_bytes());
        out.extend_from_slice(&entry.stamp.origin.0.to_le_bytes());
        if let Some(expiry_ms) = expiry_ms {
            out.extend_from_slice(&expiry_ms.to_le_bytes());
        }
        if let Some(Replaces { stamp, .. }) = entry.replaces {
            out.extend_from_slice(&stamp.version.0.to_le_bytes());
            out.extend_from_slice(&stamp.origin.0.to_le_bytes());
        }
        if let Some(position) = &entry.logged {
            out.extend_from_slice(&position.sequence.0.to_le_bytes());
            out.extend_from_slice(&position.origin.0.to_le_bytes());
        }
        if !tombstone {
            out.extend_from_slice(&entry.value);
        }
    }

    /// Decides whether it wins its key.
    pub fn rank(&self) -> Rank {
        Rank::new(self.stamp, self.replaces).with_expiry(self.is_expiry)
    }

    /// Where it stands among the entries of whoever logged it first.
    pub fn position(&self) -> Position {
        Position::of(self.stamp, self.logged.as_ref())
    }

    /// The place in its bytes where the position begins, and where the value does.
    pub(crate) fn position_at(bytes: &[u8]) -> Option<(usize, usize)> {
        let flags = *bytes.first()?;
        let width = |flag, bytes| if flags & flag == 0 { 0 } else { bytes };
        let at = HEADER_BYTES + width(FLAG_EXPIRY, 8) + width(FLAG_REPLACES, 16);
        (flags & FLAG_POSITION != 0).then_some((at, at + 16))
    }

    /// A copy that owns its value.
    pub fn to_versioned(self) -> Versioned {
        Versioned {
            stamp: self.stamp,
            from: self.from,
            tombstone: self.tombstone,
            is_expiry: self.is_expiry,
            expiry_ms: self.expiry_ms,
            replaces: self.replaces,
            logged: self.logged.map(Box::new),
            value: Bytes::copy_from_slice(self.value),
        }
    }
}

/// At a place whose bounds the caller has checked.
fn stamp_at(bytes: &[u8], at: usize) -> Stamp {
    Stamp::new(Version(u64_at(bytes, at)), Origin(u64_at(bytes, at + 8)))
}

/// Little-endian, at a place whose bounds the caller has checked.
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
