//! The replicas of a range, as its own log says: changed by entries alone, and the same everywhere. Pure.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_proto::ShardAddress;
use raft::eraftpb::{
    ConfChangeSingle, ConfChangeTransition, ConfChangeType, ConfChangeV2, ConfState,
};

/// Index and term of the entry behind which the log of a new range begins: a replica without it has nothing of it.
pub(crate) const FIRST: u64 = 5;
/// The most replicas that a descriptor may have.
const REPLICAS_MAX: u32 = 64;

/// What a replica is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// It votes.
    Voter,
    /// It votes, in the new configuration of two.
    Incoming,
    /// It votes, in the old configuration of two.
    Outgoing,
    /// It follows, and does not vote.
    Learner,
}

/// A replica of a range, for one life: one that has lost its data is never made again under its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Member {
    /// Its number, which no other replica of the range has or ever had.
    pub id: u64,
    pub at: ShardAddress,
    /// A random number that it gave itself when it was made.
    pub directory: u64,
    pub role: Role,
}

/// The replicas of a range.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Descriptor {
    /// Number of the configuration: each change makes it greater by one.
    pub config: u64,
    /// The number of the next replica.
    pub next: u64,
    /// The number of the target that it goes by.
    pub target: u64,
    /// By their numbers.
    pub members: Vec<Member>,
}

/// A change of the replicas of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// A replica that was prepared gets what there is, and does not vote.
    AddLearner {
        id: u64,
        at: ShardAddress,
        directory: u64,
    },
    /// A learner goes.
    Remove(u64),
    /// Learners begin to vote, and voters go: in two configurations at once, unless it is one replica alone.
    Enter { add: Vec<u64>, remove: Vec<u64> },
    /// Those that are incoming vote alone.
    Leave,
    /// A newer target is followed from here on: no change for an older one counts any more. For `raft` it adds
    /// the leader once more: an empty change would leave a joint configuration.
    Follow { target: u64, leader: u64 },
}

/// A change as an entry of the log: it counts only behind the configuration that it was made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub config: u64,
    pub change: Change,
}

/// Bytes that are no descriptor, or no change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the replicas of a range cannot be read from its log or store")]
pub(crate) struct Unreadable;

impl Descriptor {
    /// The first of a range: its replicas in the order of their numbers.
    pub fn first(replicas: impl IntoIterator<Item = (u64, ShardAddress, u64)>) -> Descriptor {
        let members = replicas.into_iter().map(|(id, at, directory)| Member {
            id,
            at,
            directory,
            role: Role::Voter,
        });
        let members: Vec<Member> = members.collect();
        Descriptor {
            config: 1,
            next: members
                .iter()
                .map(|member| member.id + 1)
                .max()
                .unwrap_or(1),
            target: 0,
            members,
        }
    }

    /// A replica by its number.
    pub fn member(&self, id: u64) -> Option<&Member> {
        self.members.iter().find(|member| member.id == id)
    }

    /// Whether two configurations vote.
    pub fn is_joint(&self) -> bool {
        let is_joint = |member: &Member| matches!(member.role, Role::Incoming | Role::Outgoing);
        self.members.iter().any(is_joint)
    }

    /// The replicas of a role.
    pub fn of(&self, role: Role) -> impl Iterator<Item = &Member> {
        self.members
            .iter()
            .filter(move |member| member.role == role)
    }

    /// The replicas that vote once a change has ended.
    pub fn voters(&self) -> impl Iterator<Item = &Member> {
        let votes = |member: &&Member| matches!(member.role, Role::Voter | Role::Incoming);
        self.members.iter().filter(votes)
    }

    /// As `raft` has it.
    pub fn conf_state(&self) -> ConfState {
        let ids = |roles: &[Role]| -> Vec<u64> {
            let members = self.members.iter();
            let of = members.filter(|member| roles.contains(&member.role));
            of.map(|member| member.id).collect()
        };
        ConfState {
            voters: ids(&[Role::Voter, Role::Incoming]),
            voters_outgoing: if self.is_joint() {
                ids(&[Role::Voter, Role::Outgoing])
            } else {
                Vec::new()
            },
            learners: ids(&[Role::Learner]),
            ..ConfState::default()
        }
    }

    /// What an entry makes of it; none where it does not count: it was made for another configuration, or makes no
    /// sense. Judged when it is applied, so everywhere alike.
    pub fn with(&self, entry: &Entry) -> Option<Descriptor> {
        if entry.config != self.config {
            return None;
        }
        let mut with = self.clone();
        with.config += 1;
        match &entry.change {
            Change::AddLearner { id, at, directory } => with.add(*id, *at, *directory)?,
            Change::Remove(id) => {
                let member = self.member(*id)?;
                if member.role != Role::Learner || self.is_joint() {
                    return None;
                }
                with.members.retain(|member| member.id != *id);
            }
            Change::Enter { add, remove } => with.enter(add, remove)?,
            Change::Leave => {
                if !self.is_joint() {
                    return None;
                }
                with.members.retain(|member| member.role != Role::Outgoing);
                let incoming = with.members.iter_mut();
                let incoming = incoming.filter(|member| member.role == Role::Incoming);
                incoming.for_each(|member| member.role = Role::Voter);
            }
            Change::Follow { target, leader } => {
                let votes = self.member(*leader)?.role == Role::Voter;
                if *target <= self.target || !votes || self.is_joint() {
                    return None;
                }
                with.target = *target;
            }
        }
        Some(with)
    }

    fn add(&mut self, id: u64, at: ShardAddress, directory: u64) -> Option<()> {
        let is_full = self.members.len() >= REPLICAS_MAX as usize;
        if id != self.next || self.is_joint() || is_full {
            return None;
        }
        self.next += 1;
        self.members.push(Member {
            id,
            at,
            directory,
            role: Role::Learner,
        });
        Some(())
    }

    fn enter(&mut self, add: &[u64], remove: &[u64]) -> Option<()> {
        if self.is_joint() || add.is_empty() && remove.is_empty() {
            return None;
        }
        let is_single = add.len() + remove.len() == 1;
        for id in add {
            let member = self.members.iter_mut().find(|member| member.id == *id)?;
            if member.role != Role::Learner {
                return None;
            }
            member.role = if is_single {
                Role::Voter
            } else {
                Role::Incoming
            };
        }
        for id in remove {
            let member = self.members.iter_mut().find(|member| member.id == *id)?;
            if member.role != Role::Voter {
                return None;
            }
            member.role = Role::Outgoing;
        }
        if is_single {
            self.members.retain(|member| member.role != Role::Outgoing);
        }
        (self.voters().count() > 0).then_some(())
    }

    /// As bytes of the store.
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(28 + 21 * self.members.len());
        out.put_u64_le(self.config);
        out.put_u64_le(self.next);
        out.put_u64_le(self.target);
        out.put_u32_le(self.members.len() as u32);
        for member in &self.members {
            out.put_u64_le(member.id);
            member.at.encode(&mut out);
            out.put_u64_le(member.directory);
            out.put_u8(match member.role {
                Role::Voter => 0,
                Role::Incoming => 1,
                Role::Outgoing => 2,
                Role::Learner => 3,
            });
        }
        out.freeze()
    }

    /// The same back.
    ///
    /// # Errors
    /// `Unreadable` where the bytes are none.
    pub fn decode(mut from: Bytes) -> Result<Descriptor, Unreadable> {
        let from = &mut from;
        let (config, next, target) = (get_u64(from)?, get_u64(from)?, get_u64(from)?);
        let count = from.try_get_u32_le().map_err(|_| Unreadable)?;
        if count > REPLICAS_MAX {
            return Err(Unreadable);
        }
        let mut members = Vec::with_capacity(count as usize);
        for _ in 0..count {
            members.push(Member {
                id: get_u64(from)?,
                at: get_at(from)?,
                directory: get_u64(from)?,
                role: match from.try_get_u8().map_err(|_| Unreadable)? {
                    0 => Role::Voter,
                    1 => Role::Incoming,
                    2 => Role::Outgoing,
                    3 => Role::Learner,
                    _ => return Err(Unreadable),
                },
            });
        }
        let descriptor = Descriptor {
            config,
            next,
            target,
            members,
        };
        (from.is_empty()).then_some(descriptor).ok_or(Unreadable)
    }
}

impl Entry {
    /// As `raft` takes it, with its meaning here as context.
    pub fn conf_change(&self) -> ConfChangeV2 {
        let single = |change_type: ConfChangeType, node_id: u64| {
            let mut single = ConfChangeSingle::default();
            single.set_change_type(change_type);
            single.node_id = node_id;
            single
        };
        let mut change = ConfChangeV2::default();
        let changes = match &self.change {
            Change::AddLearner { id, .. } => vec![single(ConfChangeType::AddLearnerNode, *id)],
            Change::Remove(id) => vec![single(ConfChangeType::RemoveNode, *id)],
            Change::Enter { add, remove } => {
                let add = add.iter().map(|id| single(ConfChangeType::AddNode, *id));
                let remove = remove.iter();
                let remove = remove.map(|id| single(ConfChangeType::RemoveNode, *id));
                let changes: Vec<ConfChangeSingle> = add.chain(remove).collect();
                if changes.len() > 1 {
                    change.set_transition(ConfChangeTransition::Explicit);
                }
                changes
            }
            Change::Leave => Vec::new(),
            Change::Follow { leader, .. } => vec![single(ConfChangeType::AddNode, *leader)],
        };
        change.changes = changes;
        change.context = self.encode().to_vec();
        change
    }

    fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(64);
        out.put_u64_le(self.config);
        match &self.change {
            Change::AddLearner { id, at, directory } => {
                out.put_u8(1);
                out.put_u64_le(*id);
                at.encode(&mut out);
                out.put_u64_le(*directory);
            }
            Change::Remove(id) => {
                out.put_u8(2);
                out.put_u64_le(*id);
            }
            Change::Enter { add, remove } => {
                out.put_u8(3);
                for ids in [add, remove] {
                    out.put_u32_le(ids.len() as u32);
                    ids.iter().for_each(|id| out.put_u64_le(*id));
                }
            }
            Change::Leave => out.put_u8(4),
            Change::Follow { target, leader } => {
                out.put_u8(5);
                out.put_u64_le(*target);
                out.put_u64_le(*leader);
            }
        }
        out.freeze()
    }

    /// The same back.
    ///
    /// # Errors
    /// `Unreadable` where the bytes are none.
    pub fn decode(mut from: Bytes) -> Result<Entry, Unreadable> {
        let from = &mut from;
        let config = get_u64(from)?;
        let change = match from.try_get_u8().map_err(|_| Unreadable)? {
            1 => Change::AddLearner {
                id: get_u64(from)?,
                at: get_at(from)?,
                directory: get_u64(from)?,
            },
            2 => Change::Remove(get_u64(from)?),
            3 => Change::Enter {
                add: get_ids(from)?,
                remove: get_ids(from)?,
            },
            4 => Change::Leave,
            5 => Change::Follow {
                target: get_u64(from)?,
                leader: get_u64(from)?,
            },
            _ => return Err(Unreadable),
        };
        (from.is_empty())
            .then_some(Entry { config, change })
            .ok_or(Unreadable)
    }
}

fn get_at(from: &mut Bytes) -> Result<ShardAddress, Unreadable> {
    ShardAddress::decode(from).map_err(|_| Unreadable)
}

fn get_u64(from: &mut Bytes) -> Result<u64, Unreadable> {
    from.try_get_u64_le().map_err(|_| Unreadable)
}

fn get_ids(from: &mut Bytes) -> Result<Vec<u64>, Unreadable> {
    let count = from.try_get_u32_le().map_err(|_| Unreadable)?;
    if count > REPLICAS_MAX {
        return Err(Unreadable);
    }
    (0..count).map(|_| get_u64(from)).collect()
}

#[cfg(test)]
#[path = "descriptor_tests.rs"]
mod tests;
