//! What became of a transaction, kept by the range of its first write. Pure.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::command::{Malformed, numbers, put_numbers};

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

impl Record {
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
