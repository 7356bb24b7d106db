//! Entry: one change in a log (`docs/formats.md`, section 2).

use bytes::{BufMut, Bytes, BytesMut};

use crate::{DecodeError, EntryView, Position, Rank, Replaces, Stamp, Vector};

/// Bytes before the optional expiry and the key length.
pub(crate) const HEADER_BYTES: usize = 26;
pub(crate) const FLAG_EXPIRY: u8 = 1;
pub(crate) const FLAG_COPY: u8 = 2;
pub(crate) const FLAG_REPLACES: u8 = 4;
pub(crate) const FLAG_MEND: u8 = 8;
pub(crate) const FLAG_EXPIRED: u8 = 16;
pub(crate) const FLAG_POSITION: u8 = 32;

/// What an entry does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Sets a key to a value.
    Put,
    /// Removes a key; remembered as a tombstone.
    Delete,
    /// Tells what the log's entries before it cover: the value is an encoded [`Vector`].
    Vector,
}

impl Kind {
    #[inline]
    fn code(self) -> u8 {
        match self {
            Kind::Put => 1,
            Kind::Delete => 2,
            Kind::Vector => 3,
        }
    }

    #[inline]
    pub(crate) fn from_code(code: u8) -> Result<Self, DecodeError> {
        match code {
            1 => Ok(Kind::Put),
            2 => Ok(Kind::Delete),
            3 => Ok(Kind::Vector),
            _ => Err(DecodeError::Unknown {
                field: "kind",
                value: code.into(),
            }),
        }
    }
}

/// One change. Key and value are slices of the buffer it was decoded from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it does.
    pub kind: Kind,
    /// A repair or backfill: carries its true stamp, but does not advance the vector and is
    /// not followed by cursors.
    pub copy: bool,
    /// How many replicas are to hold it, so that no more copies come to exist.
    pub from: u8,
    /// The hash slice of the keyspace.
    pub partition: u16,
    /// The keyspace's number.
    pub keyspace: u32,
    /// Decides conflicts.
    pub stamp: Stamp,
    /// Its place in its origin's log, if its version and origin do not say that, as of the end of a value or an
    /// entry of another cluster: it takes no more room than that.
    pub logged: Option<Box<Position>>,
    /// Milliseconds since 1970 after which the value is gone.
    pub expiry_ms: Option<u64>,
    /// A delete that nobody asked for: the time of the value with this very stamp is over.
    pub is_expiry: bool,
    /// A stamp far ahead that it stands above all the same.
    pub replaces: Option<Replaces>,
    /// The user's key.
    pub key: Bytes,
    /// The user's value; empty for a delete.
    pub value: Bytes,
}

impl Entry {
    /// An entry that carries `vector` and nothing else.
    pub fn of_vector(vector: &Vector) -> Self {
        Self {
            kind: Kind::Vector,
            copy: false,
            from: 0,
            partition: 0,
            keyspace: 0,
            stamp: Stamp::default(),
            logged: None,
            expiry_ms: None,
            is_expiry: false,
            replaces: None,
            key: Bytes::new(),
            value: vector.encode(),
        }
    }

    /// Decides whether it wins its key.
    #[inline]
    pub fn rank(&self) -> Rank {
        Rank::new(self.stamp, self.replaces).with_expiry(self.is_expiry)
    }

    /// Where it stands among the entries of whoever logged it first.
    #[inline]
    pub fn position(&self) -> Position {
        Position::of(self.stamp, self.logged.as_deref())
    }

    /// Length of [`Entry::encode`]'s answer in bytes.
    #[inline]
    pub fn encoded_len(&self) -> usize {
        let expiry = if self.expiry_ms.is_some() { 8 } else { 0 };
        let replaces = if self.replaces.is_some() { 16 } else { 0 };
        let position = if self.logged.is_some() { 16 } else { 0 };
        HEADER_BYTES + expiry + replaces + position + 4 + self.key.len() + self.value_bytes().len()
    }

    /// The bytes of a log record. Keys longer than `u32::MAX` bytes cannot be written; refuse
    /// them where they enter.
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(self.encoded_len());
        self.encode_into(&mut out);
        out.freeze()
    }

    /// Appends what [`Entry::encode`] answers.
    pub fn encode_into(&self, out: &mut BytesMut) {
        let mut flags = 0;
        if self.expiry_ms.is_some() {
            flags |= FLAG_EXPIRY;
        }
        if self.copy {
            flags |= FLAG_COPY;
        }
        flags |= self.replaces.map_or(0, |replaces| {
            if replaces.is_mend {
                FLAG_REPLACES | FLAG_MEND
            } else {
                FLAG_REPLACES
            }
        });
        if self.is_expiry {
            flags |= FLAG_EXPIRED;
        }
        if self.logged.is_some() {
            flags |= FLAG_POSITION;
        }
        out.reserve(self.encoded_len());
        out.put_slice(&[self.kind.code(), flags, self.from, 0]);
        out.put_u16_le(self.partition);
        out.put_u32_le(self.keyspace);
        out.put_u64_le(self.stamp.version.0);
        out.put_u64_le(self.stamp.origin.0);
        if let Some(expiry_ms) = self.expiry_ms {
            out.put_u64_le(expiry_ms);
        }
        if let Some(Replaces { stamp, .. }) = self.replaces {
            out.put_u64_le(stamp.version.0);
            out.put_u64_le(stamp.origin.0);
        }
        if let Some(position) = &self.logged {
            out.put_u64_le(position.sequence.0);
            out.put_u64_le(position.origin.0);
        }
        out.put_u32_le(self.key.len() as u32);
        out.put_slice(&self.key);
        out.put_slice(self.value_bytes());
    }

    /// Reads an entry; key and value share `bytes`.
    ///
    /// # Errors
    /// [`DecodeError`] when `bytes` are not exactly one entry.
    pub fn decode(bytes: Bytes) -> Result<Self, DecodeError> {
        let view = EntryView::new(&bytes)?;
        let (key_at, value_at) = (view.key_at(), view.value_at());
        Ok(Self {
            kind: view.kind(),
            copy: view.copy(),
            from: view.from(),
            partition: view.partition(),
            keyspace: view.keyspace(),
            stamp: view.stamp(),
            logged: view.logged().map(Box::new),
            expiry_ms: view.expiry_ms(),
            is_expiry: view.is_expiry(),
            replaces: view.replaces(),
            key: bytes.slice(key_at..value_at),
            value: bytes.slice(value_at..),
        })
    }

    /// A delete has no value on disk or wire, whatever its maker left in the field.
    #[inline]
    fn value_bytes(&self) -> &[u8] {
        match self.kind {
            Kind::Delete => &[],
            Kind::Put | Kind::Vector => &self.value,
        }
    }
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
