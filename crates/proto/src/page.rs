//! Pages of stored values: of one partition for a backfill, of a keyspace in key order for a scan.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_entry::{Rank, Replaces, Stamp};
use dunlin_message::DecodeError;

use crate::Life;
use crate::wire::*;

const TOMBSTONE: u8 = 1;
const REPLACES: u8 = 2;
const MEND: u8 = 4;

/// A stored value or tombstone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The key; empty where the question named it.
    pub key: Bytes,
    /// Version and origin.
    pub stamp: Stamp,
    /// Replicas that should hold it.
    pub from: u8,
    /// Whether this is a remembered delete.
    pub tombstone: bool,
    /// When the value goes, in milliseconds since 1970.
    pub expiry_ms: Option<u64>,
    /// A stamp far ahead that it stands above all the same.
    pub replaces: Option<Replaces>,
    /// The value.
    pub value: Bytes,
}

impl Item {
    /// Decides which of two is newer.
    #[inline]
    pub fn rank(&self) -> Rank {
        Rank::new(self.stamp, self.replaces)
    }

    /// Whether a reader at `now_ms` sees a value here.
    #[inline]
    pub fn is_visible(&self, now_ms: u64) -> bool {
        !self.tombstone && self.expiry_ms.is_none_or(|expiry| now_ms < expiry)
    }
}

/// Ask for a partition's records from `start` on.
#[derive(Debug, Clone)]
pub struct SnapshotRequest {
    /// Keyspace number.
    pub keyspace: u32,
    /// The partition.
    pub partition: u16,
    /// First key wanted.
    pub start: Bytes,
    /// Whether the asker's past is certain: what a shard of uncertain past holds, it shows only to
    /// others like it. An earlier version does not say, and means that it is.
    pub is_asker_whole: bool,
}

/// Ask for a keyspace's records in key order, `start` included, `end` not.
#[derive(Debug, Clone)]
pub struct ScanRequest {
    /// Keyspace number.
    pub keyspace: u32,
    /// First key wanted.
    pub start: Bytes,
    /// First key not wanted; `None` is the end.
    pub end: Option<Bytes>,
    /// Most items in a page.
    pub max_items: u32,
    /// Number of the change of the members whose outcome the asker goes by.
    pub epoch: u64,
}

/// Some records in key order.
#[derive(Debug, Clone)]
pub struct Page {
    /// The records, tombstones too.
    pub items: Vec<Item>,
    /// First key of the next page; `None` when this is the last.
    pub next: Option<Bytes>,
    /// Who says so, in the answer to `Snapshot`; absent from an earlier version.
    pub life: Option<Life>,
}

impl Item {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        let mut flags = u8::from(self.tombstone) * TOMBSTONE;
        flags |= self.replaces.map_or(0, |replaces| match replaces.is_mend {
            true => REPLACES | MEND,
            false => REPLACES,
        });
        out.put_u8(flags);
        out.put_u8(self.from);
        put_stamp(out, self.stamp);
        put_option_u64(out, self.expiry_ms);
        if let Some(replaces) = self.replaces {
            put_stamp(out, replaces.stamp);
        }
        put_bytes(out, &self.key);
        put_bytes(out, &self.value);
    }

    pub(crate) fn decode(body: &mut Bytes) -> Result<Self, DecodeError> {
        let flags = get_u8(body)?;
        if flags & !(TOMBSTONE | REPLACES | MEND) != 0 {
            return Err(malformed(format!("unknown flags of a record {flags}")));
        }
        Ok(Item {
            tombstone: flags & TOMBSTONE != 0,
            from: get_u8(body)?,
            stamp: get_stamp(body)?,
            expiry_ms: get_option_u64(body)?,
            replaces: match flags & REPLACES {
                0 => None,
                _ => Some(Replaces {
                    stamp: get_stamp(body)?,
                    is_mend: flags & MEND != 0,
                }),
            },
            key: get_bytes(body)?,
            value: get_bytes(body)?,
        })
    }
}

impl SnapshotRequest {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u32_le(self.keyspace);
        out.put_u16_le(self.partition);
        put_bytes(out, &self.start);
        out.put_u8(self.is_asker_whole.into());
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let body = &mut body;
        Ok(SnapshotRequest {
            keyspace: get_u32(body)?,
            partition: get_u16(body)?,
            start: get_bytes(body)?,
            is_asker_whole: !body.has_remaining() || get_u8(body)? != 0,
        })
    }
}

impl ScanRequest {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u32_le(self.keyspace);
        out.put_u32_le(self.max_items);
        out.put_u64_le(self.epoch);
        put_bytes(out, &self.start);
        put_option_bytes(out, self.end.as_deref());
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let body = &mut body;
        Ok(ScanRequest {
            keyspace: get_u32(body)?,
            max_items: get_u32(body)?,
            epoch: get_u64(body)?,
            start: get_bytes(body)?,
            end: get_option_bytes(body)?,
        })
    }
}

impl Page {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        put_option_bytes(out, self.next.as_deref());
        out.put_u32_le(self.items.len() as u32);
        for item in &self.items {
            item.encode(out);
        }
        if let Some(life) = self.life {
            life.encode(out);
        }
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let body = &mut body;
        let next = get_option_bytes(body)?;
        let count = get_u32(body)? as usize;
        let mut items = Vec::with_capacity(count.min(body.len() / 26));
        for _ in 0..count {
            items.push(Item::decode(body)?);
        }
        let life = match body.has_remaining() {
            true => Some(Life::decode(body)?),
            false => None,
        };
        Ok(Page { items, next, life })
    }
}
