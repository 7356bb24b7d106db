//! Pages of stored values: of one partition for a backfill, of a keyspace in key order for a scan.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_entry::{Position, Rank, Replaces, Stamp, Vector, Version};
use dunlin_message::DecodeError;

use crate::wire::*;
use crate::{Life, ShardAddress};

const TOMBSTONE: u8 = 1;
const REPLACES: u8 = 2;
const MEND: u8 = 4;
const EXPIRED: u8 = 8;
const LOGGED: u8 = 16;

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
    /// A delete that nobody asked for: the time of the value with this very stamp is over.
    pub is_expiry: bool,
    /// When the value goes, in milliseconds since 1970.
    pub expiry_ms: Option<u64>,
    /// A stamp far ahead that it stands above all the same.
    pub replaces: Option<Replaces>,
    /// Its place in its origin's log, if its version and origin do not say that.
    pub logged: Option<Box<Position>>,
    /// The value.
    pub value: Bytes,
}

impl Item {
    /// Decides which of two is newer.
    #[inline]
    pub fn rank(&self) -> Rank {
        Rank::new(self.stamp, self.replaces).with_expiry(self.is_expiry)
    }

    /// Where it stands among the entries of whoever logged it first.
    #[inline]
    pub fn position(&self) -> Position {
        Position::of(self.stamp, self.logged.as_deref())
    }

    /// Whether a reader at `now_ms` sees a value here.
    #[inline]
    pub fn is_visible(&self, now_ms: u64) -> bool {
        !self.tombstone && self.expiry_ms.is_none_or(|expiry| now_ms < expiry)
    }
}

/// An [`Item`] that owns nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemRef<'a> {
    /// See [`Item::key`].
    pub key: &'a [u8],
    /// See [`Item::stamp`].
    pub stamp: Stamp,
    /// See [`Item::from`].
    pub from: u8,
    /// See [`Item::tombstone`].
    pub tombstone: bool,
    /// See [`Item::is_expiry`].
    pub is_expiry: bool,
    /// See [`Item::expiry_ms`].
    pub expiry_ms: Option<u64>,
    /// See [`Item::replaces`].
    pub replaces: Option<Replaces>,
    /// See [`Item::logged`].
    pub logged: Option<Position>,
    /// See [`Item::value`].
    pub value: &'a [u8],
}

/// Items in key order as they travel: written where they are read from a disk and read where they are
/// brought to one, so that who sends them on, or takes them, need not look at each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Run {
    count: u32,
    /// So many items, and perhaps more behind them that is not known here.
    bytes: Bytes,
}

/// A [`Run`] under construction.
#[derive(Debug, Default)]
pub struct RunBuilder {
    count: u32,
    bytes: BytesMut,
}

/// The least bytes of an encoded item.
const ITEM_BYTES_MIN: usize = 27;

impl RunBuilder {
    /// With room for so many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        RunBuilder {
            count: 0,
            bytes: BytesMut::with_capacity(bytes),
        }
    }

    /// Appends an item.
    pub fn push(&mut self, item: ItemRef<'_>) {
        self.count += 1;
        item.encode(&mut self.bytes);
    }

    /// What was appended.
    pub fn finish(self) -> Run {
        Run {
            count: self.count,
            bytes: self.bytes.freeze(),
        }
    }
}

impl Run {
    /// How many items there are said to be.
    pub fn count(&self) -> usize {
        self.count as usize
    }

    /// Bytes of all, encoded.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The items. The last is an error where they are not what they are said to be.
    pub fn items(&self) -> impl Iterator<Item = Result<Item, DecodeError>> + use<> {
        let mut bytes = self.bytes.clone();
        let mut left = self.count;
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let item = Item::decode(&mut bytes);
            if item.is_err() {
                left = 0;
            }
            Some(item)
        })
    }

    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u32_le(self.count);
        out.put_slice(&self.bytes);
    }

    /// All that is left of a body.
    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let count = get_u32(&mut body)?;
        if count as usize > body.len() / ITEM_BYTES_MIN {
            let left = body.len();
            return Err(malformed(format!(
                "{count} records announced, {left} bytes left"
            )));
        }
        Ok(Run { count, bytes: body })
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
    /// others like it.
    pub is_asker_whole: bool,
    /// Which records, and what is kept for the asker meanwhile.
    pub delta: Delta,
}

/// What a backfill is about (decision 40).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delta {
    /// Who asks.
    pub asker: ShardAddress,
    /// Up to where it has what each origin stamped, or gets it from elsewhere. Empty, it wants all.
    pub have: Vector,
    /// It goes on in the answerer's log after this version of the answerer's present origin.
    pub keep: Version,
}

impl Delta {
    /// Whether a record that was logged there is to be sent. The end of a value and a repaired one always are:
    /// two replicas may have logged one of them.
    pub fn wants(&self, logged: Position, is_expiry: bool, replaces: Option<Replaces>) -> bool {
        is_expiry || replaces.is_some() || logged.sequence > self.have.get(logged.origin)
    }
}

/// What a page of a backfill took its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageCost {
    /// 99th percentile of the latency of requests at the source's node, over the last seconds, in
    /// microseconds; 0 where there were hardly any.
    pub latency_us_p99: u64,
    /// Bytes of keys and values read for this page, with those left out of it.
    pub read_bytes: u64,
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
    /// Who says so, in the answers to `Snapshot` and `Far`.
    pub life: Option<Life>,
    /// What it took, in the answer to `Snapshot`. Only beside `life`.
    pub cost: Option<PageCost>,
}

impl ItemRef<'_> {
    fn encode(&self, out: &mut BytesMut) {
        let mut flags = u8::from(self.tombstone) * TOMBSTONE;
        flags |= u8::from(self.is_expiry) * EXPIRED;
        flags |= self.replaces.map_or(0, |replaces| {
            if replaces.is_mend {
                REPLACES | MEND
            } else {
                REPLACES
            }
        });
        flags |= u8::from(self.logged.is_some()) * LOGGED;
        out.put_u8(flags);
        out.put_u8(self.from);
        put_stamp(out, self.stamp);
        put_option_u64(out, self.expiry_ms);
        if let Some(replaces) = self.replaces {
            put_stamp(out, replaces.stamp);
        }
        if let Some(Position { origin, sequence }) = self.logged {
            put_stamp(out, Stamp::new(sequence, origin));
        }
        put_bytes(out, self.key);
        put_bytes(out, self.value);
    }
}

impl Item {
    /// The same without owning it.
    pub fn by_ref(&self) -> ItemRef<'_> {
        ItemRef {
            key: &self.key,
            stamp: self.stamp,
            from: self.from,
            tombstone: self.tombstone,
            is_expiry: self.is_expiry,
            expiry_ms: self.expiry_ms,
            replaces: self.replaces,
            logged: self.logged.as_deref().copied(),
            value: &self.value,
        }
    }

    pub(crate) fn encode(&self, out: &mut BytesMut) {
        self.by_ref().encode(out);
    }

    pub(crate) fn decode(body: &mut Bytes) -> Result<Self, DecodeError> {
        let flags = get_u8(body)?;
        let is_odd = flags & EXPIRED != 0 && flags & TOMBSTONE == 0;
        if flags & !(TOMBSTONE | REPLACES | MEND | EXPIRED | LOGGED) != 0 || is_odd {
            return Err(malformed(format!("unknown flags of a record {flags}")));
        }
        Ok(Item {
            tombstone: flags & TOMBSTONE != 0,
            is_expiry: flags & EXPIRED != 0,
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
            logged: match flags & LOGGED {
                0 => None,
                _ => Some(Box::new(get_stamp(body)?.into())),
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
        self.delta.asker.encode(out);
        out.put_u64_le(self.delta.keep.0);
        put_vector(out, &self.delta.have);
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let body = &mut body;
        Ok(SnapshotRequest {
            keyspace: get_u32(body)?,
            partition: get_u16(body)?,
            start: get_bytes(body)?,
            is_asker_whole: get_u8(body)? != 0,
            delta: Delta {
                asker: ShardAddress::decode(body)?,
                keep: Version(get_u64(body)?),
                have: get_vector(body)?,
            },
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
            if let Some(cost) = self.cost {
                out.put_u64_le(cost.latency_us_p99);
                out.put_u64_le(cost.read_bytes);
            }
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
        let life = if body.has_remaining() {
            Some(Life::decode(body)?)
        } else {
            None
        };
        let cost = if body.has_remaining() {
            Some(PageCost {
                latency_us_p99: get_u64(body)?,
                read_bytes: get_u64(body)?,
            })
        } else {
            None
        };
        Ok(Page {
            items,
            next,
            life,
            cost,
        })
    }
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
