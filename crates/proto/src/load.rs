//! Loading: many pairs for a replica at once, as files, all with one stamp (decision 45).

use bytes::{BufMut, Bytes, BytesMut};
use dunlin_entry::{Stamp, Version};
use dunlin_message::DecodeError;

use crate::wire::*;

/// A step of a load at one replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadRequest {
    /// That of all its pairs, which tells one load from another.
    pub stamp: Stamp,
    /// The load before it, which the replica must have: its version.
    pub after: Version,
    /// Keyspace number.
    pub keyspace: u32,
    /// By how many of its partition's replicas each pair is stored.
    pub from: u8,
    /// What to do.
    pub step: LoadStep,
}

/// What to do with a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadStep {
    /// Keep pairs of one partition until they are wanted: keys ascending, and beyond all that came before.
    Part {
        /// The partition.
        partition: u16,
        /// Pairs as `docs/formats.md`, section 8 has them, without a checksum.
        pairs: Bytes,
    },
    /// Write what came into files, where nothing is in their way.
    Prepare,
    /// Take over all partitions but these, and note that the load is here.
    Commit {
        /// Partitions that go another way.
        leave_out: Vec<u16>,
    },
    /// Forget it: it was given up.
    Drop,
}

/// How a step went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadAnswer {
    /// It is not done, and nothing of this load counts at this replica.
    Refused,
    /// To `Part` and `Drop`: done.
    Done,
    /// To `Prepare`.
    Prepared {
        /// Partitions that hold something between the first and the last key.
        in_the_way: Vec<u16>,
    },
    /// To `Commit`: it is on disk and is read.
    Committed {
        /// The replica's word does not count for stamps up to this one.
        unsure: Version,
    },
}

impl LoadRequest {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        put_stamp(out, self.stamp);
        out.put_u64_le(self.after.0);
        out.put_u32_le(self.keyspace);
        out.put_u8(self.from);
        match &self.step {
            LoadStep::Part { partition, pairs } => {
                out.put_u8(1);
                out.put_u16_le(*partition);
                put_bytes(out, pairs);
            }
            LoadStep::Prepare => out.put_u8(2),
            LoadStep::Commit { leave_out } => {
                out.put_u8(3);
                put_numbers(out, leave_out);
            }
            LoadStep::Drop => out.put_u8(4),
        }
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let body = &mut body;
        Ok(LoadRequest {
            stamp: get_stamp(body)?,
            after: Version(get_u64(body)?),
            keyspace: get_u32(body)?,
            from: get_u8(body)?,
            step: match get_u8(body)? {
                1 => LoadStep::Part {
                    partition: get_u16(body)?,
                    pairs: get_bytes(body)?,
                },
                2 => LoadStep::Prepare,
                3 => LoadStep::Commit {
                    leave_out: get_numbers(body)?,
                },
                4 => LoadStep::Drop,
                kind => return Err(malformed(format!("unknown step of a load {kind}"))),
            },
        })
    }
}

impl LoadAnswer {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        match self {
            LoadAnswer::Refused => out.put_u8(0),
            LoadAnswer::Done => out.put_u8(1),
            LoadAnswer::Prepared { in_the_way } => {
                out.put_u8(2);
                put_numbers(out, in_the_way);
            }
            LoadAnswer::Committed { unsure } => {
                out.put_u8(3);
                out.put_u64_le(unsure.0);
            }
        }
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let body = &mut body;
        Ok(match get_u8(body)? {
            0 => LoadAnswer::Refused,
            1 => LoadAnswer::Done,
            2 => LoadAnswer::Prepared {
                in_the_way: get_numbers(body)?,
            },
            3 => LoadAnswer::Committed {
                unsure: Version(get_u64(body)?),
            },
            kind => return Err(malformed(format!("unknown answer to a load {kind}"))),
        })
    }
}
