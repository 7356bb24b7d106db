//! What became of a transaction, kept by the range of its first write. Pure.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_entry::Version;

use crate::command::{Malformed, Refusal, number, numbers, put_numbers, version};

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

/// The outcome of a name. It never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameOutcome {
    /// The attempt with this timestamp has committed.
    Committed(Version),
    /// No attempt has committed, nor will.
    Refused(Refusal),
}

/// The record of a name that a client gave a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdRecord {
    /// Checksum of the request's body.
    pub body: u64,
    /// Its outcome; none while the name is only reserved for this body.
    pub outcome: Option<NameOutcome>,
}

impl IdRecord {
    /// As it is stored.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(24);
        out.put_u64_le(self.body);
        match self.outcome {
            None => out.put_u8(0),
            Some(NameOutcome::Committed(at)) => {
                out.put_u8(1);
                out.put_u64_le(at.0);
            }
            Some(NameOutcome::Refused(refusal)) => {
                out.put_u8(2);
                refusal.encode(&mut out);
            }
        }
        out
    }

    /// The same back.
    ///
    /// # Errors
    /// When the bytes are none.
    pub fn decode(mut from: Bytes) -> Result<IdRecord, Malformed> {
        let from = &mut from;
        let body = number(from)?;
        let outcome = match from.try_get_u8() {
            Ok(0) => None,
            Ok(1) => Some(NameOutcome::Committed(version(from)?)),
            Ok(2) => Some(NameOutcome::Refused(Refusal::decode(from)?)),
            _ => return Err(Malformed("the outcome of a name is unknown")),
        };
        Ok(IdRecord { body, outcome })
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
