//! Records stamped so far ahead that nothing can be written above them.

use bytes::{BufMut, Bytes, BytesMut};
use dunlin_message::DecodeError;

use crate::wire::*;

/// Ask for those of a partition from `start` on: the answer is a page of them, whose `next` is where
/// the look through the partition goes on.
#[derive(Debug, Clone)]
pub struct FarRequest {
    /// Keyspace number.
    pub keyspace: u32,
    /// The partition.
    pub partition: u16,
    /// First key to look at.
    pub start: Bytes,
}

impl FarRequest {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u32_le(self.keyspace);
        out.put_u16_le(self.partition);
        put_bytes(out, &self.start);
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let body = &mut body;
        Ok(FarRequest {
            keyspace: get_u32(body)?,
            partition: get_u16(body)?,
            start: get_bytes(body)?,
        })
    }
}
