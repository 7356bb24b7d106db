//! A write as it stands in a range's log. Pure.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_entry::{Kind, Origin, Stamp, Version};
use dunlin_proto::Condition;

/// A put or a delete, with all that its replicas judge it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The clock of the leader that proposed it.
    pub clock: Version,
    /// Its version must not be above this.
    pub deadline: Version,
    /// Its version must be above this.
    pub floor: Version,
    /// What must hold of the key.
    pub condition: Condition,
    /// Put or delete.
    pub kind: Kind,
    /// The key.
    pub key: Bytes,
    /// The value; empty for a delete.
    pub value: Bytes,
}

/// A write that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a write in a range's log cannot be read: {0}")]
pub struct Malformed(&'static str);

impl Command {
    /// As it stands in the log.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = BytesMut::with_capacity(46 + self.key.len() + self.value.len());
        out.put_u64_le(self.clock.0);
        out.put_u64_le(self.deadline.0);
        out.put_u64_le(self.floor.0);
        match self.condition {
            Condition::None => out.put_u8(0),
            Condition::Absent => out.put_u8(1),
            Condition::Present => out.put_u8(2),
            Condition::Is(stamp) => {
                out.put_u8(3);
                out.put_u64_le(stamp.version.0);
                out.put_u64_le(stamp.origin.0);
            }
        }
        out.put_u8(match self.kind {
            Kind::Put => 1,
            _ => 2,
        });
        out.put_u32_le(self.key.len() as u32);
        out.put_slice(&self.key);
        out.put_slice(&self.value);
        out.into()
    }

    /// Sets the clock in one that is encoded.
    pub fn set_clock(encoded: &mut [u8], clock: Version) {
        if let Some(place) = encoded.get_mut(..8) {
            place.copy_from_slice(&clock.0.to_le_bytes());
        }
    }

    /// Out of the log.
    ///
    /// # Errors
    /// When the bytes are not a command's.
    pub fn decode(mut from: Bytes) -> Result<Command, Malformed> {
        let from = &mut from;
        let short = |_| Malformed("it is cut short");
        let clock = Version(from.try_get_u64_le().map_err(short)?);
        let deadline = Version(from.try_get_u64_le().map_err(short)?);
        let floor = Version(from.try_get_u64_le().map_err(short)?);
        let condition = match from.try_get_u8().map_err(short)? {
            0 => Condition::None,
            1 => Condition::Absent,
            2 => Condition::Present,
            3 => Condition::Is(Stamp {
                version: Version(from.try_get_u64_le().map_err(short)?),
                origin: Origin(from.try_get_u64_le().map_err(short)?),
            }),
            _ => return Err(Malformed("its condition is unknown")),
        };
        let kind = match from.try_get_u8().map_err(short)? {
            1 => Kind::Put,
            2 => Kind::Delete,
            _ => return Err(Malformed("its kind is unknown")),
        };
        let length = from.try_get_u32_le().map_err(short)? as usize;
        if length > from.len() {
            return Err(Malformed("its key is cut short"));
        }
        Ok(Command {
            clock,
            deadline,
            floor,
            condition,
            kind,
            key: from.split_to(length),
            value: std::mem::take(from),
        })
    }
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
