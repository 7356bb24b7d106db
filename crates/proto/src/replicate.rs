//! A piece of an origin's log on its way to a replica.

use bytes::{BufMut, Bytes, BytesMut};
use dunlin_entry::{Origin, Rank, Version};
use dunlin_message::DecodeError;

use crate::ShardAddress;
use crate::wire::*;

/// All entries of `origin` meant for the receiver with versions in (`after`, `up_to`].
#[derive(Debug, Clone)]
pub struct Batch {
    /// Whose entries these are.
    pub origin: Origin,
    /// The receiver must have everything up to here already.
    pub after: Version,
    /// The receiver has everything up to here afterwards.
    pub up_to: Version,
    /// Encoded entries, as they stand in the log.
    pub entries: Vec<Bytes>,
    /// Up to where each of those whom the origin supplies has acknowledged its entries, itself among them
    /// (decision 46); empty where nobody asks for it.
    pub held: Vec<(ShardAddress, Version)>,
}

/// An entry lost against a newer one already held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conflict {
    /// Version of the losing entry, within the batch's origin.
    pub version: Version,
    /// The winner.
    pub newer: Rank,
}

/// What a replica did with a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchAnswer {
    /// Everything up to the batch's end is logged under its sync policy and applied.
    Have {
        /// Entries that lost against newer ones.
        conflicts: Vec<Conflict>,
        /// Entries that do not count as acknowledged: their keyspaces are dropped there.
        uncounted: Vec<Version>,
        /// What is stamped at or below this it stores, but it cannot say that it never acknowledged
        /// anything newer: its word does not count for it. 0 from a shard of certain past.
        unsure: Version,
        /// Whether it is to be told with each batch who else has it.
        wants_held: bool,
    },
    /// Something before the batch is missing: start again after this version.
    Gap(Version),
    /// The log takes nothing now: try again later.
    Refused,
}

impl Batch {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u64_le(self.origin.0);
        out.put_u64_le(self.after.0);
        out.put_u64_le(self.up_to.0);
        put_list(out, &self.entries);
        out.put_u32_le(self.held.len() as u32);
        for (shard, version) in &self.held {
            shard.encode(out);
            out.put_u64_le(version.0);
        }
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let body = &mut body;
        Ok(Batch {
            origin: Origin(get_u64(body)?),
            after: Version(get_u64(body)?),
            up_to: Version(get_u64(body)?),
            entries: get_list(body)?,
            held: get_held(body)?,
        })
    }
}

impl BatchAnswer {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        match self {
            BatchAnswer::Have {
                conflicts,
                uncounted,
                unsure,
                wants_held,
            } => {
                out.put_u8(1);
                out.put_u32_le(conflicts.len() as u32);
                for conflict in conflicts {
                    out.put_u64_le(conflict.version.0);
                    put_stamp(out, conflict.newer.stamp());
                    put_replaces(out, conflict.newer.replaces());
                }
                out.put_u32_le(uncounted.len() as u32);
                for version in uncounted {
                    out.put_u64_le(version.0);
                }
                out.put_u64_le(unsure.0);
                out.put_u8((*wants_held).into());
            }
            BatchAnswer::Gap(version) => {
                out.put_u8(2);
                out.put_u64_le(version.0);
            }
            BatchAnswer::Refused => out.put_u8(3),
        }
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let body = &mut body;
        Ok(match get_u8(body)? {
            1 => {
                let count = get_u32(body)? as usize;
                let mut conflicts = Vec::with_capacity(count.min(body.len() / 25));
                for _ in 0..count {
                    let version = Version(get_u64(body)?);
                    let newer = Rank::new(get_stamp(body)?, get_replaces(body)?);
                    conflicts.push(Conflict { version, newer });
                }
                let count = get_u32(body)? as usize;
                let mut uncounted = Vec::with_capacity(count.min(body.len() / 8));
                for _ in 0..count {
                    uncounted.push(Version(get_u64(body)?));
                }
                BatchAnswer::Have {
                    conflicts,
                    uncounted,
                    unsure: Version(get_u64(body)?),
                    wants_held: get_u8(body)? != 0,
                }
            }
            2 => BatchAnswer::Gap(Version(get_u64(body)?)),
            3 => BatchAnswer::Refused,
            kind => return Err(malformed(format!("unknown answer to a batch {kind}"))),
        })
    }
}

fn get_held(body: &mut Bytes) -> Result<Vec<(ShardAddress, Version)>, DecodeError> {
    let count = get_u32(body)? as usize;
    let mut held = Vec::with_capacity(count.min(body.len() / 12));
    for _ in 0..count {
        held.push((ShardAddress::decode(body)?, Version(get_u64(body)?)));
    }
    Ok(held)
}
