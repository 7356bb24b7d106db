//! What each shard holds of a range that has lost its majority.

use std::rc::Rc;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_raftlog::Position;
use raft::StateRole;

use crate::descriptor::Descriptor;
use crate::group::applied;
use crate::ranges::{AtShard, Silent};
use crate::wire::{Malformed, SURVEY, get_bytes, put_bytes};

/// A replica with data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Survivor {
    pub id: u64,
    pub directory: u64,
    /// Whether it may vote: it has kept all that it promised.
    pub votes: bool,
    pub leads: bool,
    /// The last entry that it has.
    pub last: Position,
    /// Up to where it has applied entries.
    pub applied: u64,
    pub descriptor: Descriptor,
}

/// What a shard holds of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Holding {
    /// It cannot be said now.
    Unknown,
    /// Nothing that the range could begin again with.
    Nothing,
    /// A replica that has nothing of the range yet, and may vote.
    Empty {
        id: u64,
        directory: u64,
    },
    Replica(Survivor),
}

/// Asks for it.
pub(crate) fn encode_request(group: u64) -> Bytes {
    let mut out = BytesMut::with_capacity(9);
    out.put_u8(SURVEY);
    out.put_u64_le(group);
    out.freeze()
}

/// The same back, without its kind.
pub(crate) fn decode_request(mut from: Bytes) -> Result<u64, Malformed> {
    let group = from.try_get_u64_le().map_err(|_| Malformed)?;
    from.is_empty().then_some(group).ok_or(Malformed)
}

impl Holding {
    /// As it is sent.
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        match self {
            Holding::Unknown => out.put_u8(0),
            Holding::Nothing => out.put_u8(1),
            Holding::Empty { id, directory } => {
                out.put_u8(2);
                out.put_u64_le(*id);
                out.put_u64_le(*directory);
            }
            Holding::Replica(replica) => {
                out.put_u8(3);
                out.put_u64_le(replica.id);
                out.put_u64_le(replica.directory);
                out.put_u8(replica.votes.into());
                out.put_u8(replica.leads.into());
                out.put_u64_le(replica.last.index);
                out.put_u64_le(replica.last.term);
                out.put_u64_le(replica.applied);
                put_bytes(&mut out, &replica.descriptor.encode());
            }
        }
        out.freeze()
    }

    /// The same back; what cannot be read says nothing.
    pub fn decode(from: Bytes) -> Holding {
        Holding::read(from).unwrap_or(Holding::Unknown)
    }

    fn read(mut from: Bytes) -> Option<Holding> {
        let from = &mut from;
        let holding = match from.try_get_u8().ok()? {
            1 => Holding::Nothing,
            2 => Holding::Empty {
                id: from.try_get_u64_le().ok()?,
                directory: from.try_get_u64_le().ok()?,
            },
            3 => Holding::Replica(Survivor {
                id: from.try_get_u64_le().ok()?,
                directory: from.try_get_u64_le().ok()?,
                votes: from.try_get_u8().ok()? != 0,
                leads: from.try_get_u8().ok()? != 0,
                last: Position {
                    index: from.try_get_u64_le().ok()?,
                    term: from.try_get_u64_le().ok()?,
                },
                applied: from.try_get_u64_le().ok()?,
                descriptor: Descriptor::decode(get_bytes(from).ok()?).ok()?,
            }),
            _ => return None,
        };
        from.is_empty().then_some(holding)
    }
}

impl AtShard {
    /// What this shard holds of a range.
    pub fn survey(self: &Rc<Self>, group: u64) -> Holding {
        self.find(group).unwrap_or_else(|why| {
            tracing::warn!(range = group, why, "a replica of a range cannot be read");
            Holding::Unknown
        })
    }

    fn find(&self, id: u64) -> Result<Holding, String> {
        if self.busy.borrow().contains(&id) {
            return Ok(Holding::Unknown);
        }
        if let Some(group) = self.group(id) {
            let (own, directory) = (group.others.own, group.meta.get().directory);
            let Some(descriptor) = group.others.descriptor.borrow().clone() else {
                return Ok(Holding::Empty { id: own, directory });
            };
            let node = group.node.borrow();
            return Ok(Holding::Replica(Survivor {
                id: own,
                directory,
                votes: true,
                leads: node.raft.state == StateRole::Leader,
                last: Position {
                    index: node.raft.raft_log.last_index(),
                    term: node.raft.raft_log.last_term(),
                },
                applied: group.meta.get().applied,
                descriptor,
            }));
        }
        let silent = self.silent.borrow().get(&id).cloned();
        let Some(meta) = self.store.meta(id).map_err(|error| error.to_string())? else {
            return Ok(Holding::Nothing);
        };
        Ok(match (silent, self.descriptor(id)?) {
            (None, _) => Holding::Unknown,
            (Some(Silent::Preparing), _) => Holding::Empty {
                id: meta.own,
                directory: meta.directory,
            },
            (Some(Silent::Mute(_)), None) => Holding::Nothing,
            (Some(Silent::Mute(_)), Some(descriptor)) => Holding::Replica(Survivor {
                id: meta.own,
                directory: meta.directory,
                votes: false,
                leads: false,
                last: self.sound_log(id, &meta).unwrap_or(applied(&meta)),
                applied: meta.applied,
                descriptor,
            }),
        })
    }

    /// The last entry of a replica's log, where it goes on from what the store has.
    pub fn sound_log(&self, id: u64, meta: &dunlin_versions::Meta) -> Option<Position> {
        let log = self.log.group(id)?;
        let log = log.borrow();
        let is_sound = !log.is_broken() && log.term(meta.applied) == Some(meta.term);
        is_sound.then(|| log.last())
    }
}

#[cfg(test)]
#[path = "survey_tests.rs"]
mod tests;
