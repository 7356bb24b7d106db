//! The exchange of vectors, and beside it what two shards tell one another of their pasts.

use bytes::{BufMut, Bytes, BytesMut};
use dunlin_entry::Vector;
use dunlin_message::DecodeError;

use crate::ShardAddress;
use crate::wire::*;

/// The asker's vector, in exchange for the answerer's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorsRequest {
    /// Of the asker.
    pub vector: Vector,
    /// Who asks.
    pub asker: Asker,
}

/// A shard as it tells another of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asker {
    /// Which shard.
    pub address: ShardAddress,
    /// Its start.
    pub incarnation: u32,
    /// Last record of its log when it started.
    pub opened_at: u64,
    /// Last record of its log that it vouches for now.
    pub vouched: u64,
    /// It answers for what it holds, and has heard the one that it asks: that one may remember this
    /// in place of what it was told before.
    pub is_settled: bool,
}

/// How far a shard once said that its log reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    /// In which of its lives.
    pub incarnation: u32,
    /// Last record of its log that it vouched for then.
    pub vouched: u64,
}

/// The answerer's vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorsAnswer {
    /// Of the answerer.
    pub vector: Vector,
    /// More of it.
    pub answerer: Answerer,
}

/// What goes with the answerer's vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answerer {
    /// Its life as of the answer.
    pub life: Life,
    /// What an earlier life of the asker told it, when that is more than the asker started with.
    pub contradiction: Option<Told>,
    /// Nothing more comes of the answerer's own starts up to this one (decision 42); 0 when it does
    /// not say.
    pub final_to: u32,
}

/// In which of its lives a shard speaks, and whether it answers for what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    /// Its start.
    pub incarnation: u32,
    /// Whether it answers reads: its past is certain.
    pub is_whole: bool,
}

impl Life {
    pub(crate) fn encode(self, out: &mut BytesMut) {
        out.put_u32_le(self.incarnation);
        out.put_u8(self.is_whole.into());
    }

    pub(crate) fn decode(body: &mut Bytes) -> Result<Self, DecodeError> {
        Ok(Life {
            incarnation: get_u32(body)?,
            is_whole: get_u8(body)? != 0,
        })
    }
}

impl VectorsRequest {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        put_vector(out, &self.vector);
        let asker = &self.asker;
        asker.address.encode(out);
        out.put_u32_le(asker.incarnation);
        out.put_u64_le(asker.opened_at);
        out.put_u64_le(asker.vouched);
        out.put_u8(asker.is_settled.into());
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let body = &mut body;
        Ok(VectorsRequest {
            vector: get_vector(body)?,
            asker: Asker {
                address: ShardAddress::decode(body)?,
                incarnation: get_u32(body)?,
                opened_at: get_u64(body)?,
                vouched: get_u64(body)?,
                is_settled: get_u8(body)? != 0,
            },
        })
    }
}

impl VectorsAnswer {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        put_vector(out, &self.vector);
        let answerer = &self.answerer;
        answerer.life.encode(out);
        let told = answerer.contradiction;
        put_option_u64(out, told.map(|told| told.incarnation.into()));
        put_option_u64(out, told.map(|told| told.vouched));
        out.put_u32_le(answerer.final_to);
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let body = &mut body;
        let vector = get_vector(body)?;
        let life = Life::decode(body)?;
        let told = (get_option_u64(body)?, get_option_u64(body)?);
        let answerer = Answerer {
            life,
            contradiction: match told {
                (Some(incarnation), Some(vouched)) => Some(Told {
                    incarnation: u32::try_from(incarnation).map_err(malformed)?,
                    vouched,
                }),
                _ => None,
            },
            final_to: get_u32(body)?,
        };
        Ok(VectorsAnswer { vector, answerer })
    }
}
