//! Entries of one origin out of any replica's log, for one that missed them.

use bytes::{BufMut, Bytes, BytesMut};
use dunlin_entry::{Origin, Version};
use dunlin_message::DecodeError;

use crate::ShardAddress;
use crate::wire::*;

/// Ask for the entries of `origin` after `after` that `for_shard` should hold.
#[derive(Debug, Clone)]
pub struct PullRequest {
    /// Whose entries.
    pub origin: Origin,
    /// Not these and older.
    pub after: Version,
    /// Who asks; only entries with the asker among their replicas are sent.
    pub for_shard: ShardAddress,
    /// Where in the answerer's log the previous page ended; 0 at first.
    pub resume_index: u64,
}

/// One page of the answerer's log.
#[derive(Debug, Clone)]
pub enum PullAnswer {
    /// Entries in log order, perhaps none.
    Entries {
        /// Encoded entries.
        entries: Vec<Bytes>,
        /// All the answerer has of the origin up to here has been sent, with this page.
        up_to: Version,
        /// Continue here; 0 when the end of the log was reached.
        resume_index: u64,
    },
    /// The log no longer reaches back that far: backfill.
    TooOld,
}

impl PullRequest {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u64_le(self.origin.0);
        out.put_u64_le(self.after.0);
        self.for_shard.encode(out);
        out.put_u64_le(self.resume_index);
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let body = &mut body;
        Ok(PullRequest {
            origin: Origin(get_u64(body)?),
            after: Version(get_u64(body)?),
            for_shard: ShardAddress::decode(body)?,
            resume_index: get_u64(body)?,
        })
    }
}

impl PullAnswer {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        match self {
            PullAnswer::Entries {
                entries,
                up_to,
                resume_index,
            } => {
                out.put_u8(1);
                out.put_u64_le(up_to.0);
                out.put_u64_le(*resume_index);
                put_list(out, entries);
            }
            PullAnswer::TooOld => out.put_u8(2),
        }
    }

    pub(crate) fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        let body = &mut body;
        Ok(match get_u8(body)? {
            1 => PullAnswer::Entries {
                up_to: Version(get_u64(body)?),
                resume_index: get_u64(body)?,
                entries: get_list(body)?,
            },
            2 => PullAnswer::TooOld,
            kind => return Err(malformed(format!("unknown answer to a pull {kind}"))),
        })
    }
}
