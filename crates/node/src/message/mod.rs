//! What shards say to one another. One file a message, encode and decode side
//! by side; this file is the envelope.

mod clock;
mod far;
mod fill;
mod page;
mod pull;
mod reach;
mod read;
mod replicate;
mod vectors;
mod wire;
mod write;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_entry::{Origin, Version};
use dunlin_message::{DecodeError, Message};

use crate::placement::ShardAddress;

pub use clock::{ClockAnswer, ClockRequest};
pub use far::FarRequest;
pub use fill::{FillPage, FillRequest, Froms, Place, TailAnswer, TailRequest};
pub use page::{Item, Page, ScanRequest, SnapshotRequest};
pub use pull::{PullAnswer, PullRequest};
pub use reach::Reached;
pub use read::{ReadAnswer, ReadRequest};
pub use replicate::{Batch, BatchAnswer, Conflict};
pub use vectors::{Answerer, Asker, Life, Told, VectorsAnswer, VectorsRequest};
pub use write::{Condition, Refusal, WriteAnswer, WriteRequest};

use wire::malformed;

/// A question from one shard to another.
#[derive(Debug, Clone)]
pub enum Request {
    /// Log a change here and have it acknowledged by its replicas.
    Write(WriteRequest),
    /// The newest value known here.
    Read(ReadRequest),
    /// The next entries of the sender's log.
    Replicate(Batch),
    /// Up to which version of `origin` this shard has everything meant for it.
    Position(Origin),
    /// The asker's vector, in exchange for the answerer's.
    Vectors(VectorsRequest),
    /// Entries of one origin out of this shard's log.
    Pull(PullRequest),
    /// One page of a partition's newest values.
    Snapshot(SnapshotRequest),
    /// One page of a keyspace in key order.
    Scan(ScanRequest),
    /// Encoded entries with their true stamps, for a replica seen to be stale.
    Repair(Vec<Bytes>),
    /// What the shard counts about itself, as JSON.
    Status,
    /// One page of what a new replica takes over.
    Fill(FillRequest),
    /// What the log has had since.
    Tail(TailRequest),
    /// How far the shard is with the change of the members, as JSON.
    Move,
    /// Whether the asker can be reached from here.
    Reach(ShardAddress),
    /// The asker is about to stop: it is to be asked nothing more.
    Leaving(ShardAddress),
    /// What a shard of the same node lacks to serve clients, as JSON.
    Ready,
    /// The wall clock there, and what newer topologies have of drops.
    Clock(ClockRequest),
    /// One page of a partition's records that are stamped too far ahead.
    Far(FarRequest),
}

/// The answer to a [`Request`] of the same name.
#[derive(Debug, Clone)]
pub enum Response {
    /// To `Write`.
    Written(WriteAnswer),
    /// To `Read`.
    Read(ReadAnswer),
    /// To `Replicate`.
    Replicated(BatchAnswer),
    /// To `Position`.
    Position(Version),
    /// To `Vectors`.
    Vectors(VectorsAnswer),
    /// To `Pull`.
    Pulled(PullAnswer),
    /// To `Snapshot`, `Scan` and `Far`.
    Page(Page),
    /// To `Repair`: logged and applied. To `Leaving`: noted.
    Done,
    /// To `Status`.
    Status(Bytes),
    /// To `Fill`.
    Filled(FillPage),
    /// To `Tail`.
    Tail(TailAnswer),
    /// To `Move`.
    Moved(Bytes),
    /// To `Reach`.
    Reached(Reached),
    /// To `Ready`.
    Ready(Bytes),
    /// To `Clock`.
    Clock(ClockAnswer),
}

impl Message for Request {
    fn encode(&self, out: &mut BytesMut) {
        match self {
            Request::Write(m) => {
                out.put_u8(1);
                m.encode(out);
            }
            Request::Read(m) => {
                out.put_u8(2);
                m.encode(out);
            }
            Request::Replicate(m) => {
                out.put_u8(3);
                m.encode(out);
            }
            Request::Position(origin) => {
                out.put_u8(4);
                out.put_u64_le(origin.0);
            }
            Request::Vectors(m) => {
                out.put_u8(5);
                m.encode(out);
            }
            Request::Pull(m) => {
                out.put_u8(6);
                m.encode(out);
            }
            Request::Snapshot(m) => {
                out.put_u8(7);
                m.encode(out);
            }
            Request::Scan(m) => {
                out.put_u8(8);
                m.encode(out);
            }
            Request::Repair(entries) => {
                out.put_u8(9);
                wire::put_list(out, entries);
            }
            Request::Status => out.put_u8(10),
            Request::Fill(m) => {
                out.put_u8(11);
                m.encode(out);
            }
            Request::Tail(m) => {
                out.put_u8(12);
                m.encode(out);
            }
            Request::Move => out.put_u8(13),
            Request::Reach(asker) => {
                out.put_u8(20);
                reach::encode_shard(*asker, out);
            }
            Request::Leaving(asker) => {
                out.put_u8(21);
                reach::encode_shard(*asker, out);
            }
            Request::Ready => out.put_u8(22),
            Request::Clock(m) => {
                out.put_u8(24);
                m.encode(out);
            }
            Request::Far(m) => {
                out.put_u8(25);
                m.encode(out);
            }
        }
    }

    fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        Ok(match body.try_get_u8().map_err(malformed)? {
            1 => Request::Write(WriteRequest::decode(body)?),
            2 => Request::Read(ReadRequest::decode(body)?),
            3 => Request::Replicate(Batch::decode(body)?),
            4 => Request::Position(Origin(body.try_get_u64_le().map_err(malformed)?)),
            5 => Request::Vectors(VectorsRequest::decode(body)?),
            6 => Request::Pull(PullRequest::decode(body)?),
            7 => Request::Snapshot(SnapshotRequest::decode(body)?),
            8 => Request::Scan(ScanRequest::decode(body)?),
            9 => Request::Repair(wire::get_list(&mut body)?),
            10 => Request::Status,
            11 => Request::Fill(FillRequest::decode(body)?),
            12 => Request::Tail(TailRequest::decode(body)?),
            13 => Request::Move,
            20 => Request::Reach(reach::decode_shard(&mut body)?),
            21 => Request::Leaving(reach::decode_shard(&mut body)?),
            22 => Request::Ready,
            24 => Request::Clock(ClockRequest::decode(body)?),
            25 => Request::Far(FarRequest::decode(body)?),
            kind => return Err(malformed(format!("unknown request kind {kind}"))),
        })
    }

    fn weight(&self) -> usize {
        64 + match self {
            Request::Write(m) => m.key.len() + m.value.len(),
            Request::Replicate(m) => m.entries.iter().map(|e| e.len() + 8).sum(),
            Request::Repair(entries) => entries.iter().map(Bytes::len).sum(),
            Request::Vectors(m) => m.vector.len() * 16,
            _ => 0,
        }
    }
}

impl Message for Response {
    fn encode(&self, out: &mut BytesMut) {
        match self {
            Response::Written(m) => {
                out.put_u8(1);
                m.encode(out);
            }
            Response::Read(m) => {
                out.put_u8(2);
                m.encode(out);
            }
            Response::Replicated(m) => {
                out.put_u8(3);
                m.encode(out);
            }
            Response::Position(version) => {
                out.put_u8(4);
                out.put_u64_le(version.0);
            }
            Response::Vectors(m) => {
                out.put_u8(5);
                m.encode(out);
            }
            Response::Pulled(m) => {
                out.put_u8(6);
                m.encode(out);
            }
            Response::Page(m) => {
                out.put_u8(7);
                m.encode(out);
            }
            Response::Done => out.put_u8(8),
            Response::Status(json) => {
                out.put_u8(9);
                out.put_slice(json);
            }
            Response::Filled(m) => {
                out.put_u8(10);
                m.encode(out);
            }
            Response::Tail(m) => {
                out.put_u8(11);
                m.encode(out);
            }
            Response::Moved(json) => {
                out.put_u8(12);
                out.put_slice(json);
            }
            Response::Reached(m) => {
                out.put_u8(20);
                m.encode(out);
            }
            Response::Ready(json) => {
                out.put_u8(22);
                out.put_slice(json);
            }
            Response::Clock(m) => {
                out.put_u8(24);
                m.encode(out);
            }
        }
    }

    fn decode(mut body: Bytes) -> Result<Self, DecodeError> {
        Ok(match body.try_get_u8().map_err(malformed)? {
            1 => Response::Written(WriteAnswer::decode(body)?),
            2 => Response::Read(ReadAnswer::decode(body)?),
            3 => Response::Replicated(BatchAnswer::decode(body)?),
            4 => Response::Position(Version(body.try_get_u64_le().map_err(malformed)?)),
            5 => Response::Vectors(VectorsAnswer::decode(body)?),
            6 => Response::Pulled(PullAnswer::decode(body)?),
            7 => Response::Page(Page::decode(body)?),
            8 => Response::Done,
            9 => Response::Status(body),
            10 => Response::Filled(FillPage::decode(body)?),
            11 => Response::Tail(TailAnswer::decode(body)?),
            12 => Response::Moved(body),
            20 => Response::Reached(Reached::decode(&mut body)?),
            22 => Response::Ready(body),
            24 => Response::Clock(ClockAnswer::decode(body)?),
            kind => return Err(malformed(format!("unknown response kind {kind}"))),
        })
    }

    fn weight(&self) -> usize {
        64 + match self {
            Response::Read(ReadAnswer::Value(item)) => item.value.len(),
            Response::Pulled(PullAnswer::Entries { entries, .. }) => {
                entries.iter().map(Bytes::len).sum()
            }
            Response::Page(page) | Response::Filled(FillPage { page, .. }) => page
                .items
                .iter()
                .map(|i| i.key.len() + i.value.len() + 32)
                .sum(),
            Response::Tail(TailAnswer::Entries { entries, .. }) => {
                entries.iter().map(Bytes::len).sum()
            }
            Response::Status(json) | Response::Moved(json) | Response::Ready(json) => json.len(),
            Response::Clock(m) => m.weight(),
            _ => 0,
        }
    }
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
