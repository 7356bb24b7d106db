//! What became of a transaction, kept by the range of its first write. Pure.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_entry::Version;

use crate::command::{Malformed, number, numbers, put_numbers, version};

/// What became of a transaction. Neither ever becomes the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// It has no effect.
    Aborted,
    /// It has committed.
    Committed {
        /// The ranges that may still have intents of it; none when all know.
        participants: Vec<u64>,
    },
}

/// What became of what a client calls by one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdRecord {
    /// Checksum of what it asked for.
    pub body: u64,
    /// Attempts up to this timestamp have no effect.
    pub closed: Version,
    /// The attempt that has committed.
    pub committed: Option<Version>,
}

impl IdRecord {
    /// As it is stored.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(24);
        out.put_u64_le(self.body);
        out.put_u64_le(self.closed.0);
        out.put_u64_le(self.committed.unwrap_or_default().0);
        out
    }

    /// The same back.
    ///
    /// # Errors
    /// When the bytes are none.
    pub fn decode(mut from: Bytes) -> Result<IdRecord, Malformed> {
        let from = &mut from;
        let (body, closed, committed) = (number(from)?, version(from)?, version(from)?);
        Ok(IdRecord {
            body,
            closed,
            committed: Some(committed).filter(|committed| *committed != Version(0)),
        })
    }
}

impl Record {
    /// Whether it has committed.
    pub fn is_committed(&self) -> bool {
        matches!(self, Record::Committed { .. })
    }

    /// As it is stored.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = BytesMut::with_capacity(16);
        match self {
            Record::Aborted => out.put_u8(0),
            Record::Committed { participants } => {
                out.put_u8(1);
                put_numbers(&mut out, participants);
            }
        }
        out.into()
    }

    /// The same back.
    ///
    /// # Errors
    /// When the bytes are no record's.
    pub fn decode(mut from: Bytes) -> Result<Record, Malformed> {
        match from.try_get_u8() {
            Ok(0) => Ok(Record::Aborted),
            Ok(1) => Ok(Record::Committed {
                participants: numbers(&mut from)?,
            }),
            _ => Err(Malformed("the record of a transaction is unknown")),
        }
    }
}
