//! Pairs for a shard that holds them, from one that does not and was asked to store them (decision 45).

use bytes::{BufMut, Bytes, BytesMut};
use dunlin_entry::Version;
use dunlin_message::DecodeError;

use crate::wire::*;

/// Pairs that the receiver is to load, as what it stamps itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadForRequest {
    /// Keyspace number.
    pub keyspace: u32,
    /// Replicas that must have them.
    pub ack: u8,
    /// By how many of its partition's replicas each pair is stored.
    pub from: u8,
    /// They are stamped up to here, or not at all.
    pub deadline: Version,
    /// They are stamped above this.
    pub floor: Version,
    /// By partition, keys ascending: pairs as `docs/formats.md`, section 8 has them, without a checksum.
    pub parts: Vec<(u16, Vec<Bytes>)>,
}

/// What has become of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadForAnswer {
    /// Nothing was stamped, nor will be: they are to go another way.
    Refused,
    /// Nothing was stamped, nor will be: the deadline had passed, by the clock there or while others were loaded. It
    /// may be asked again with a later one.
    Late {
        /// The clock there.
        clock: Version,
    },
    /// Some were loaded, or none.
    Loaded {
        /// Partitions of which all is acknowledged.
        partitions: Vec<u16>,
        /// Of the others there is nothing, or something that is stamped no higher than this.
        up_to: Version,
    },
}

impl LoadForRequest {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u32_le(self.keyspace);
        out.put_u8(self.ack);
        out.put_u8(self.from);
        out.put_u64_le(self.deadline.0);
        out.put_u64_le(self.floor.0);
        out.put_u16_le(self.parts.len() as u16);
        for (partition, pieces) in &self.parts {
            out.put_u16_le(*partition);
            put_list(out, pieces);
        }
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let body = &mut body;
        Ok(LoadForRequest {
            keyspace: get_u32(body)?,
            ack: get_u8(body)?,
            from: get_u8(body)?,
            deadline: Version(get_u64(body)?),
            floor: Version(get_u64(body)?),
            parts: {
                let count = get_u16(body)?;
                let parts = (0..count).map(|_| Ok((get_u16(body)?, get_list(body)?)));
                parts.collect::<Result<_, DecodeError>>()?
            },
        })
    }

    /// Bytes of the pairs as they are encoded.
    pub fn bytes(&self) -> usize {
        let pieces = self.parts.iter().flat_map(|(_, pieces)| pieces);
        pieces.map(Bytes::len).sum()
    }
}

impl LoadForAnswer {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        match self {
            LoadForAnswer::Refused => out.put_u8(0),
            LoadForAnswer::Late { clock } => {
                out.put_u8(1);
                out.put_u64_le(clock.0);
            }
            LoadForAnswer::Loaded { partitions, up_to } => {
                out.put_u8(2);
                put_numbers(out, partitions);
                out.put_u64_le(up_to.0);
            }
        }
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let body = &mut body;
        Ok(match get_u8(body)? {
            0 => LoadForAnswer::Refused,
            1 => LoadForAnswer::Late {
                clock: Version(get_u64(body)?),
            },
            2 => LoadForAnswer::Loaded {
                partitions: get_numbers(body)?,
                up_to: Version(get_u64(body)?),
            },
            kind => {
                return Err(malformed(format!("unknown answer of who loads {kind}")));
            }
        })
    }
}
