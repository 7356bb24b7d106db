//! Messages to other replicas: those of all groups for one shard go together.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_proto::ShardAddress;
use prost::Message as _;
use raft::eraftpb::Message;

use crate::group::{Group, Inbound};
use crate::plug::NUMBER;
use crate::ranges::AtShard;
use crate::wire::{MESSAGES, get_bytes, put_bytes};

/// A message that is not answered for so long did not arrive.
const WITHIN: Duration = Duration::from_secs(5);
/// More than this is not put together.
const TOGETHER_BYTES: usize = 4 << 20;

/// Messages that are to be sent, by shard.
#[derive(Default)]
pub(crate) struct Outgoing(BTreeMap<ShardAddress, Parcel>);

#[derive(Default)]
struct Parcel {
    bytes: BytesMut,
    /// Groups and replicas that are told when it does not arrive.
    to: Vec<(u64, u64)>,
}

impl AtShard {
    /// Puts messages of a group to the others.
    pub fn send(&self, group: &Group, messages: Vec<Message>) {
        let from = group.meta.get().directory;
        for message in messages {
            let Some((at, directory)) = group.replicas.get(&message.to) else {
                continue;
            };
            let mut outgoing = self.outgoing.borrow_mut();
            let parcel = outgoing.0.entry(*at).or_default();
            if parcel.to.is_empty() {
                parcel.bytes.put_u8(MESSAGES);
            }
            parcel.bytes.put_u64_le(group.id);
            parcel.bytes.put_u64_le(from);
            parcel.bytes.put_u64_le(*directory);
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

    /// Sends what was put together.
    pub fn send_all(&self) {
        let outgoing = std::mem::take(&mut *self.outgoing.borrow_mut());
        for (at, parcel) in outgoing.0 {
            let Some(services) = self.services.upgrade() else {
                return;
            };
            // The call is kept until it is answered: dropped, it would be taken back.
            tokio::task::spawn_local(async move {
                let bytes = parcel.bytes.freeze();
                if services.ask(at, NUMBER, bytes, WITHIN).await.is_ok() {
                    return;
                }
                let Some(own) = crate::plug::at_shard(&services) else {
                    return;
                };
                for (group, id) in parcel.to {
                    if let Some(group) = own.group(group) {
                        own.receive(&group, Inbound::Unreachable(id));
                    }
                }
            });
        }
    }

    /// Takes messages of another shard. Those for another directory number than this replica's, or from another
    /// than the record names, are not heard.
    pub fn take_messages(&self, mut from: Bytes) {
        while from.has_remaining() {
            let Some((group, told_by, told_to, bytes)) = next(&mut from) else {
                tracing::warn!("malformed messages from another shard");
                return;
            };
            let Some(group) = self.group(group) else {
                continue;
            };
            let Ok(message) = Message::decode(bytes) else {
                tracing::warn!("a malformed message from another shard");
                continue;
            };
            let sender = group.replicas.get(&message.from);
            let is_known = sender.is_some_and(|(_, directory)| *directory == told_by);
            if is_known && told_to == group.meta.get().directory && group.failed.borrow().is_none()
            {
                self.receive(&group, Inbound::Message(Box::new(message)));
            }
        }
    }
}

fn next(from: &mut Bytes) -> Option<(u64, u64, u64, Bytes)> {
    Some((
        from.try_get_u64_le().ok()?,
        from.try_get_u64_le().ok()?,
        from.try_get_u64_le().ok()?,
        get_bytes(from).ok()?,
    ))
}
