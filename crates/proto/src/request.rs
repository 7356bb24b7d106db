//! A question from one shard to another: the envelope, and the few that are no more than a word.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_entry::Origin;
use dunlin_message::{DecodeError, Message};

use crate::wire::{self, malformed};
use crate::{
    Batch, ClockRequest, FarRequest, FillRequest, PullRequest, ReadRequest, ScanRequest,
    ShardAddress, SnapshotRequest, TailRequest, VectorsRequest, WriteRequest,
};

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
    Status {
        /// The keys in its store, too, which costs it a look at each.
        counts_keys: bool,
    },
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
    /// By which step of its members the asker goes on this connection from now on.
    Acts(u64),
    /// What a capability that is plugged into the node asks its like: its number, and bytes that it knows.
    Plug {
        /// Whose.
        number: u8,
        /// What is asked.
        body: Bytes,
    },
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
            Request::Status { counts_keys } => {
                out.put_u8(10);
                out.put_u8((*counts_keys).into());
            }
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
                asker.encode(out);
            }
            Request::Leaving(asker) => {
                out.put_u8(21);
                asker.encode(out);
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
            Request::Acts(step) => {
                out.put_u8(26);
                out.put_u64_le(*step);
            }
            Request::Plug { number, body } => {
                out.put_u8(27);
                out.put_u8(*number);
                out.put_slice(body);
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
            10 => Request::Status {
                counts_keys: body.try_get_u8().map_err(malformed)? != 0,
            },
            11 => Request::Fill(FillRequest::decode(body)?),
            12 => Request::Tail(TailRequest::decode(body)?),
            13 => Request::Move,
            20 => Request::Reach(ShardAddress::decode(&mut body)?),
            21 => Request::Leaving(ShardAddress::decode(&mut body)?),
            22 => Request::Ready,
            24 => Request::Clock(ClockRequest::decode(body)?),
            25 => Request::Far(FarRequest::decode(body)?),
            26 => Request::Acts(body.try_get_u64_le().map_err(malformed)?),
            27 => Request::Plug {
                number: wire::get_u8(&mut body)?,
                body,
            },
            kind => return Err(malformed(format!("unknown request kind {kind}"))),
        })
    }

    fn weight(&self) -> usize {
        64 + match self {
            Request::Write(m) => m.key.len() + m.value.len(),
            Request::Replicate(m) => m.entries.iter().map(|e| e.len() + 8).sum(),
            Request::Repair(entries) => entries.iter().map(Bytes::len).sum(),
            Request::Vectors(m) => m.vector.len() * 16,
            Request::Plug { body, .. } => body.len(),
            _ => 0,
        }
    }
}
