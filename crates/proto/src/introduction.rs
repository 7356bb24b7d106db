//! How shards of different processes introduce themselves: what stands in a connection's hello and
//! in the answer to it, `docs/formats.md` section 4.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Who asks, and for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Introduction {
    /// The shard wanted.
    pub shard: u16,
    /// Number of the node that asks.
    pub asker: u16,
    /// Its incarnation.
    pub incarnation: u32,
    /// The latest incarnation of the wanted node that it knows of; 0 for none.
    pub wanted: u32,
    /// The cluster it belongs to; empty when it does not know.
    pub cluster: String,
}

impl Introduction {
    /// To the node of the name `node`.
    pub fn encode(&self, node: &str) -> Bytes {
        let mut out = BytesMut::new();
        out.put_u16_le(self.shard);
        out.put_u16_le(self.asker);
        out.put_u32_le(self.incarnation);
        out.put_u32_le(self.wanted);
        // Ids are far shorter; what is cut off would only be no match.
        let length = self.cluster.len().min(u8::MAX.into());
        out.put_u8(length as u8);
        out.put_slice(self.cluster.as_bytes().get(..length).unwrap_or_default());
        out.put_slice(node.as_bytes());
        out.freeze()
    }

    /// Reads what came to the node of the name `node`; `None` when it is meant for another, or is no
    /// introduction.
    pub fn decode(mut body: Bytes, node: &str) -> Option<Introduction> {
        let mut said = Introduction {
            shard: body.try_get_u16_le().ok()?,
            asker: body.try_get_u16_le().ok()?,
            incarnation: body.try_get_u32_le().ok()?,
            wanted: body.try_get_u32_le().ok()?,
            cluster: String::new(),
        };
        let length = usize::from(body.try_get_u8().ok()?);
        if length > body.len() {
            return None;
        }
        said.cluster = String::from_utf8(body.split_to(length).into()).ok()?;
        (body == node.as_bytes()).then_some(said)
    }

    /// What the answer says besides its status: an incarnation. Of the node that accepts; of one that
    /// is refused because a later one is known, that later one.
    pub fn encode_answer(incarnation: u32) -> [u8; 4] {
        incarnation.to_le_bytes()
    }

    /// `None` when it says nothing of the kind.
    pub fn decode_answer(mut body: &[u8]) -> Option<u32> {
        body.try_get_u32_le().ok()
    }
}

#[cfg(test)]
#[path = "introduction_tests.rs"]
mod tests;
