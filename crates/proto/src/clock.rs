//! The wall clock, and beside it what the asker's topology may not have of drops yet.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_message::DecodeError;

use crate::wire::{get_u8, get_u32, get_u64};
use crate::{Fate, Fates, Order, Word};

/// Bytes of one keyspace's fate.
const FATE_BYTES: usize = 9;

/// Ask for the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockRequest {
    /// Of the asker's topology.
    pub order: Order,
}

/// What the clock shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockAnswer {
    /// Milliseconds since 1970.
    pub now_ms: u64,
    /// What the answerer's topology has of drops, when it is after the asker's.
    pub drops: Option<Word>,
}

impl ClockRequest {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        put_order(out, self.order);
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        Ok(ClockRequest {
            order: get_order(&mut body)?,
        })
    }
}

impl ClockAnswer {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u64_le(self.now_ms);
        if let Some(word) = &self.drops {
            put_order(out, word.order);
            out.put_u32_le(word.fates.len() as u32);
            for (keyspace, fate) in &word.fates {
                out.put_u32_le(*keyspace);
                out.put_u32_le(fate.undrops);
                out.put_u8(fate.is_dropped.into());
            }
        }
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let body = &mut body;
        let now_ms = get_u64(body)?;
        let drops = if !body.has_remaining() {
            None
        } else {
            Some(Word {
                order: get_order(body)?,
                fates: get_fates(body)?,
            })
        };
        Ok(ClockAnswer { now_ms, drops })
    }

    pub(crate) fn weight(&self) -> usize {
        let fates = self.drops.as_ref().map_or(0, |word| word.fates.len());
        fates * FATE_BYTES
    }
}

fn put_order(out: &mut BytesMut, (restores, revision): Order) {
    out.put_u64_le(restores);
    out.put_u64_le(revision);
}

fn get_order(body: &mut Bytes) -> Result<Order, DecodeError> {
    Ok((get_u64(body)?, get_u64(body)?))
}

fn get_fates(body: &mut Bytes) -> Result<Fates, DecodeError> {
    let count = get_u32(body)?;
    let mut fates = Fates::new();
    for _ in 0..count {
        let keyspace = get_u32(body)?;
        let fate = Fate {
            undrops: get_u32(body)?,
            is_dropped: get_u8(body)? != 0,
        };
        fates.insert(keyspace, fate);
    }
    Ok(fates)
}
