//! One key's newest value at one replica.

use bytes::{BufMut, Bytes, BytesMut};
use dunlin_entry::Stamp;
use dunlin_message::DecodeError;

use crate::Item;
use crate::wire::*;

/// Ask for a key's newest value.
#[derive(Debug, Clone)]
pub struct ReadRequest {
    /// Keyspace number.
    pub keyspace: u32,
    /// Partition of the key.
    pub partition: u16,
    /// Stamp the asker holds already: the value need not travel again if it is the newest here too.
    pub have: Option<Stamp>,
    /// The key.
    pub key: Bytes,
}

/// What a replica holds for the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadAnswer {
    /// Nothing, not even a tombstone.
    Absent,
    /// Just what the asker has.
    Same,
    /// A value or tombstone.
    Value(Item),
    /// The stored bytes are damaged, or the replica lost its data and is being filled: ask another.
    Unknown,
}

impl ReadRequest {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u32_le(self.keyspace);
        out.put_u16_le(self.partition);
        match self.have {
            None => out.put_u8(0),
            Some(stamp) => {
                out.put_u8(1);
                put_stamp(out, stamp);
            }
        }
        out.put_slice(&self.key);
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        Ok(ReadRequest {
            keyspace: get_u32(&mut body)?,
            partition: get_u16(&mut body)?,
            have: match get_u8(&mut body)? {
                0 => None,
                _ => Some(get_stamp(&mut body)?),
            },
            key: body,
        })
    }
}

impl ReadAnswer {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        match self {
            ReadAnswer::Absent => out.put_u8(0),
            ReadAnswer::Same => out.put_u8(1),
            ReadAnswer::Value(item) => {
                out.put_u8(2);
                item.encode(out);
            }
            ReadAnswer::Unknown => out.put_u8(3),
        }
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        Ok(match get_u8(&mut body)? {
            0 => ReadAnswer::Absent,
            1 => ReadAnswer::Same,
            2 => ReadAnswer::Value(Item::decode(&mut body)?),
            3 => ReadAnswer::Unknown,
            kind => return Err(malformed(format!("unknown answer to a read {kind}"))),
        })
    }
}
