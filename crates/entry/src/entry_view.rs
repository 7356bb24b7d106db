//! An entry's fields read in place, without decoding the rest.
//!
//! Layout: `kind u8 | flags u8 | from u8 | reserved u8 | partition u16 | keyspace u32 |
//! version u64 | origin u64 | [expiry_ms u64] | [replaces: version u64 | origin u64] |
//! [position: sequence u64 | origin u64] | key_length u32 | key | value`.

use crate::entry::{
    FLAG_COPY, FLAG_EXPIRED, FLAG_EXPIRY, FLAG_MEND, FLAG_POSITION, FLAG_REPLACES, HEADER_BYTES,
};
use crate::{DecodeError, Kind, Origin, Position, Rank, Replaces, Stamp, Version};

/// A checked look at encoded bytes: every accessor is a load at a fixed offset.
#[derive(Clone, Copy, Debug)]
pub struct EntryView<'a> {
    bytes: &'a [u8],
    kind: Kind,
    key_at: usize,
    value_at: usize,
}

impl<'a> EntryView<'a> {
    /// Checks that `bytes` are one entry.
    ///
    /// # Errors
    /// [`DecodeError`] when they are too short or hold a kind or flag unknown to this version.
    pub fn new(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let short = |need| DecodeError::Short {
            what: "an entry",
            need,
            have: bytes.len(),
        };
        if bytes.len() < HEADER_BYTES + 4 {
            return Err(short(HEADER_BYTES + 4));
        }
        let kind = Kind::from_code(bytes[0])?;
        let flags = bytes[1];
        if !is_known(kind, flags) {
            return Err(DecodeError::Unknown {
                field: "flags",
                value: flags.into(),
            });
        }
        let mut length_at = position_at(flags);
        if flags & FLAG_POSITION != 0 {
            length_at += 16;
        }
        let key_at = length_at + 4;
        let length = bytes.get(length_at..key_at).ok_or(short(key_at))?;
        let key_length = u32_at(length, 0) as usize;
        let value_at = key_at.saturating_add(key_length);
        if value_at > bytes.len() {
            return Err(short(value_at));
        }
        if kind == Kind::Delete && value_at < bytes.len() {
            return Err(DecodeError::Trailing {
                what: "a delete",
                extra: bytes.len() - value_at,
            });
        }
        Ok(Self {
            bytes,
            kind,
            key_at,
            value_at,
        })
    }

    /// What the entry does.
    #[inline]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether this is a repair or backfill copy, see [`crate::Entry::copy`].
    #[inline]
    pub fn copy(&self) -> bool {
        self.bytes[1] & FLAG_COPY != 0
    }

    /// How many replicas are to hold the entry.
    #[inline]
    pub fn from(&self) -> u8 {
        self.bytes[2]
    }

    /// The hash slice of the keyspace.
    #[inline]
    pub fn partition(&self) -> u16 {
        u16::from_le_bytes([self.bytes[4], self.bytes[5]])
    }

    /// The keyspace's number.
    #[inline]
    pub fn keyspace(&self) -> u32 {
        u32_at(self.bytes, 6)
    }

    /// When the change was made, and by whom: decides conflicts.
    #[inline]
    pub fn stamp(&self) -> Stamp {
        stamp_at(self.bytes, 10)
    }

    /// Where the entry stands in its origin's log, if its stamp does not say that.
    #[inline]
    pub fn logged(&self) -> Option<Position> {
        let flags = self.bytes[1];
        (flags & FLAG_POSITION != 0).then(|| stamp_at(self.bytes, position_at(flags)).into())
    }

    /// Where it stands among the entries of whoever logged it first.
    #[inline]
    pub fn position(&self) -> Position {
        self.logged().unwrap_or(self.stamp().into())
    }

    /// Whether it is a delete because a value's time is over, see [`crate::Entry::is_expiry`].
    #[inline]
    pub fn is_expiry(&self) -> bool {
        self.bytes[1] & FLAG_EXPIRED != 0
    }

    /// Milliseconds since 1970 after which the value is gone.
    #[inline]
    pub fn expiry_ms(&self) -> Option<u64> {
        (self.bytes[1] & FLAG_EXPIRY != 0).then(|| u64_at(self.bytes, HEADER_BYTES))
    }

    /// A stamp that it stands above although its own is smaller.
    #[inline]
    pub fn replaces(&self) -> Option<Replaces> {
        let flags = self.bytes[1];
        let at = replaces_at(flags);
        (flags & FLAG_REPLACES != 0).then(|| Replaces {
            stamp: stamp_at(self.bytes, at),
            is_mend: flags & FLAG_MEND != 0,
        })
    }

    /// Decides whether it wins its key.
    #[inline]
    pub fn rank(&self) -> Rank {
        Rank::new(self.stamp(), self.replaces()).with_expiry(self.is_expiry())
    }

    /// The user's key.
    #[inline]
    pub fn key(&self) -> &'a [u8] {
        &self.bytes[self.key_at..self.value_at]
    }

    /// The user's value; for [`Kind::Vector`] an encoded [`crate::Vector`].
    #[inline]
    pub fn value(&self) -> &'a [u8] {
        &self.bytes[self.value_at..]
    }

    #[inline]
    pub(crate) fn key_at(&self) -> usize {
        self.key_at
    }

    #[inline]
    pub(crate) fn value_at(&self) -> usize {
        self.value_at
    }
}

/// Where what is replaced stands, if anything.
#[inline]
fn replaces_at(flags: u8) -> usize {
    match flags & FLAG_EXPIRY {
        0 => HEADER_BYTES,
        _ => HEADER_BYTES + 8,
    }
}

/// Where a position that is not the stamp stands, if there is one.
#[inline]
fn position_at(flags: u8) -> usize {
    match flags & FLAG_REPLACES {
        0 => replaces_at(flags),
        _ => replaces_at(flags) + 16,
    }
}

/// Whether this version knows what all the flags of an entry mean, and they mean something together.
fn is_known(kind: Kind, flags: u8) -> bool {
    let known = FLAG_EXPIRY | FLAG_COPY | FLAG_REPLACES | FLAG_MEND | FLAG_EXPIRED | FLAG_POSITION;
    let is_without = |flag, other| flags & (flag | other) == flag;
    let ends_nothing = kind != Kind::Delete || is_without(FLAG_EXPIRED, FLAG_EXPIRY);
    flags & !known == 0
        && !is_without(FLAG_MEND, FLAG_REPLACES)
        && !(flags & FLAG_EXPIRED != 0 && ends_nothing)
}

/// At a place whose bounds the caller has checked.
#[inline]
fn stamp_at(bytes: &[u8], at: usize) -> Stamp {
    Stamp::new(Version(u64_at(bytes, at)), Origin(u64_at(bytes, at + 8)))
}

/// Little-endian, at a place whose bounds the caller has checked.
#[inline]
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// Little-endian, at a place whose bounds the caller has checked.
#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}
