//! What a new replica takes over from an old one: the beginning, pages of stored records, and what
//! the old one's log has had since.

use bytes::{BufMut, Bytes, BytesMut};
use dunlin_entry::Vector;
use dunlin_message::DecodeError;

use crate::wire::*;
use crate::{Run, ShardAddress};

/// Which of a partition's records a new replica wants, by their `from`: a bit each, the lowest for
/// 1, the highest for 64 and more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Froms(pub u64);

impl Froms {
    /// Whether a record written with `from` is wanted.
    #[inline]
    pub fn has(self, from: u8) -> bool {
        self.0 & Froms::of(from).0 != 0
    }

    /// This one alone.
    #[inline]
    pub fn of(from: u8) -> Froms {
        Froms(1 << from.clamp(1, 64).saturating_sub(1))
    }

    /// This one and all below.
    #[inline]
    pub fn up_to(from: u8) -> Froms {
        Froms(u64::MAX >> (64 - from.clamp(1, 64)))
    }

    /// This one and all above.
    #[inline]
    pub fn and_above(from: u8) -> Froms {
        Froms(u64::MAX << from.clamp(1, 64).saturating_sub(1))
    }
}

/// Part of what one shard takes over from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Keyspace number.
    pub keyspace: u32,
    /// The partition.
    pub partition: u16,
}

/// Ask for a page of the records of a partition.
#[derive(Debug, Clone)]
pub struct FillRequest {
    /// Which partition.
    pub place: Place,
    /// Which of its records.
    pub froms: Froms,
    /// First key wanted.
    pub start: Bytes,
}

/// A page of records, and how the source's clients fare meanwhile.
#[derive(Debug, Clone)]
pub struct FillPage {
    /// The records, tombstones too.
    pub run: Run,
    /// First key of the next page; `None` when this is the last.
    pub next: Option<Bytes>,
    /// 99th percentile of the latency of requests at the source's node, over the last seconds, in
    /// microseconds.
    pub latency_us_p99: u64,
    /// Bytes of keys and values the source has read for this page, with those left out of it.
    pub read_bytes: u64,
}

/// Ask for what a log has had from `index` on.
#[derive(Debug, Clone)]
pub struct TailRequest {
    /// Start of the source for which `index` holds; 0 to be told.
    pub incarnation: u32,
    /// First record wanted.
    pub index: u64,
    /// Which partitions, and which of their entries.
    pub wants: Vec<(Place, Froms)>,
    /// What the source is to keep for the asker.
    pub pin: TailPin,
}

/// What is still needed of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TailPin {
    /// Who needs it.
    pub asker: ShardAddress,
    /// The least record it may still ask for.
    pub keep: u64,
}

/// Part of a log.
#[derive(Debug, Clone)]
pub enum TailAnswer {
    /// Entries in log order, perhaps none.
    Entries {
        /// Encoded entries.
        entries: Vec<Bytes>,
        /// Start of the source for which `next` holds.
        incarnation: u32,
        /// Where to go on. Of another start than was asked for: the first record it has written itself.
        next: u64,
        /// The source's vector, when this is all it has: it held so much at least before `next`.
        end: Option<Vector>,
        /// Last record of its log that is on disk.
        synced: u64,
    },
    /// The log no longer reaches back that far, or the source has started since: copy again.
    TooOld,
    /// The source cannot be copied from now: it does not know of the change yet, or is itself
    /// being filled.
    NotNow,
}

impl Place {
    fn encode(self, out: &mut BytesMut) {
        out.put_u32_le(self.keyspace);
        out.put_u16_le(self.partition);
    }

    fn decode(body: &mut Bytes) -> Result<Self, DecodeError> {
        Ok(Place {
            keyspace: get_u32(body)?,
            partition: get_u16(body)?,
        })
    }
}

impl FillRequest {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        self.place.encode(out);
        out.put_u64_le(self.froms.0);
        put_bytes(out, &self.start);
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let body = &mut body;
        Ok(FillRequest {
            place: Place::decode(body)?,
            froms: Froms(get_u64(body)?),
            start: get_bytes(body)?,
        })
    }
}

impl FillPage {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u64_le(self.latency_us_p99);
        out.put_u64_le(self.read_bytes);
        put_option_bytes(out, self.next.as_deref());
        self.run.encode(out);
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        Ok(FillPage {
            latency_us_p99: get_u64(&mut body)?,
            read_bytes: get_u64(&mut body)?,
            next: get_option_bytes(&mut body)?,
            run: Run::decode(body)?,
        })
    }
}

impl TailRequest {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u32_le(self.incarnation);
        out.put_u64_le(self.index);
        out.put_u32_le(self.wants.len() as u32);
        for (place, froms) in &self.wants {
            place.encode(out);
            out.put_u64_le(froms.0);
        }
        self.pin.asker.encode(out);
        out.put_u64_le(self.pin.keep);
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let body = &mut body;
        let incarnation = get_u32(body)?;
        let index = get_u64(body)?;
        let count = get_u32(body)? as usize;
        let mut wants = Vec::with_capacity(count.min(body.len() / 14));
        for _ in 0..count {
            wants.push((Place::decode(body)?, Froms(get_u64(body)?)));
        }
        let pin = TailPin {
            asker: ShardAddress::decode(body)?,
            keep: get_u64(body)?,
        };
        Ok(TailRequest {
            incarnation,
            index,
            wants,
            pin,
        })
    }
}

impl TailAnswer {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        match self {
            TailAnswer::Entries {
                entries,
                incarnation,
                next,
                end,
                synced,
            } => {
                out.put_u8(1);
                out.put_u32_le(*incarnation);
                out.put_u64_le(*next);
                put_option_bytes(out, end.as_ref().map(Vector::encode).as_deref());
                put_list(out, entries);
                out.put_u64_le(*synced);
            }
            TailAnswer::TooOld => out.put_u8(2),
            TailAnswer::NotNow => out.put_u8(3),
        }
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let body = &mut body;
        Ok(match get_u8(body)? {
            1 => {
                let incarnation = get_u32(body)?;
                let next = get_u64(body)?;
                let end = get_option_bytes(body)?;
                let end = end.map(|bytes| Vector::decode(&bytes).map_err(malformed));
                TailAnswer::Entries {
                    incarnation,
                    next,
                    end: end.transpose()?,
                    entries: get_list(body)?,
                    synced: get_u64(body)?,
                }
            }
            2 => TailAnswer::TooOld,
            3 => TailAnswer::NotNow,
            kind => return Err(malformed(format!("unknown answer about a log {kind}"))),
        })
    }
}
