//! Messages to other replicas: those of all groups for one shard go together.

use bytes::{Buf, BufMut, Bytes};
use dunlin_proto::ShardAddress;
use prost::Message as _;
use raft::eraftpb::Message;

use crate::group::{Group, Inbound};
use crate::ranges::AtShard;
use crate::wire::{MESSAGES, NUMBER, get_bytes, put_bytes};

/// More than this is not put together.
const TOGETHER_BYTES: usize = 4 << 20;

impl AtShard {
    /// Puts messages of a group to the others.
    pub fn send(&self, group: &Group, messages: Vec<Message>) {
        let Some(services) = self.services.upgrade() else {
            return;
        };
        let (own, from) = (services.shard().address(), group.meta.get().directory);
        for message in messages {
            let Some((at, directory)) = group.others.find(message.to) else {
                continue;
            };
            let mut outgoing = self.outgoing.borrow_mut();
            let parcel = outgoing.0.entry(at).or_default();
            if parcel.to.is_empty() {
                parcel.bytes.put_u8(MESSAGES);
            }
            parcel.bytes.put_u64_le(group.id);
            own.encode(&mut parcel.bytes);
            parcel.bytes.put_u64_le(from);
            parcel.bytes.put_u64_le(directory);
            put_bytes(&mut parcel.bytes, &message.encode_to_vec());
            let told = (group.id, message.to);
            if !parcel.to.contains(&told) {
                parcel.to.push(told);
            }
            let is_full = parcel.bytes.len() > TOGETHER_BYTES;
            drop(outgoing);
            if is_full {
                self.send_all();
            }
        }
    }

    /// Sends all messages. Raft sends lost ones again, after its next heartbeat.
    pub fn send_all(&self) {
        let outgoing = std::mem::take(&mut *self.outgoing.borrow_mut());
        let Some(services) = self.services.upgrade() else {
            return;
        };
        for (at, parcel) in outgoing.0 {
            let sent = services.notify(at, NUMBER, parcel.bytes.freeze());
            if sent.is_ok() {
                continue;
            }
            for (group, id) in parcel.to {
                if let Some(group) = self.group(group) {
                    self.receive(&group, Inbound::Unreachable(id));
                }
            }
        }
    }

    /// Takes messages of another shard. Those for another replica than this, or from one that was removed, are not heard.
    pub fn take_messages(&self, mut from: Bytes) {
        while from.has_remaining() {
            let Some(envelope) = next(&mut from) else {
                tracing::warn!("malformed messages from another shard");
                return;
            };
            let Some(group) = self.group(envelope.group) else {
                continue;
            };
            let Ok(message) = Message::decode(envelope.bytes) else {
                tracing::warn!("a malformed message from another shard");
                continue;
            };
            let is_own =
                envelope.to == group.meta.get().directory && message.to == group.others.own;
            let has_failed = group.failed.borrow().is_some();
            if is_own
                && !has_failed
                && (group.others).hear(message.from, envelope.at, envelope.directory)
            {
                self.receive(&group, Inbound::Message(Box::new(message)));
            }
        }
    }
}

/// A message with what raft knows nothing of.
struct Envelope {
    group: u64,
    /// Where its sender is.
    at: ShardAddress,
    /// The sender's directory number.
    directory: u64,
    /// The receiver's.
    to: u64,
    bytes: Bytes,
}

fn next(from: &mut Bytes) -> Option<Envelope> {
    Some(Envelope {
        group: from.try_get_u64_le().ok()?,
        at: ShardAddress::decode(from).ok()?,
        directory: from.try_get_u64_le().ok()?,
        to: from.try_get_u64_le().ok()?,
        bytes: get_bytes(from).ok()?,
    })
}
