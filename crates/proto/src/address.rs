//! Which shard.

use std::fmt;

use bytes::{BufMut, Bytes, BytesMut};
use dunlin_message::DecodeError;

use crate::wire::get_u16;

/// One event loop of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardAddress {
    /// Number of the node, from the metadata store.
    pub node: u16,
    /// Number of the shard in the node, from 0.
    pub shard: u16,
}

impl ShardAddress {
    /// Whether it is another shard of the same node: the two are never replicas of the same partition.
    #[inline]
    pub fn is_beside(self, other: ShardAddress) -> bool {
        self.node == other.node && self.shard != other.shard
    }

    /// As bytes.
    pub fn encode(self, out: &mut BytesMut) {
        out.put_u16_le(self.node);
        out.put_u16_le(self.shard);
    }

    /// The same back.
    ///
    /// # Errors
    /// When there are too few bytes.
    pub fn decode(from: &mut Bytes) -> Result<Self, DecodeError> {
        Ok(ShardAddress {
            node: get_u16(from)?,
            shard: get_u16(from)?,
        })
    }
}

impl fmt::Display for ShardAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.node, self.shard)
    }
}
