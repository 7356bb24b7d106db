//! The next step of a range from the replicas that it has to those that it should have. Pure.
//!
//! A leader takes one step at a time and looks again, so that a later leader goes on from where it ended. Only a
//! replica whose own shard says that its data is lost is replaced unasked: one that is away may be back in a moment.

use std::collections::BTreeMap;

use dunlin_proto::ShardAddress;

use crate::descriptor::{Descriptor, Member, Role};

/// A learner has caught up when no more entries than this are missing.
const CAUGHT_UP: u64 = 256;

/// What a leader knows of another replica.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The last entry that it has.
    pub matched: u64,
    /// Whether it was heard a moment ago.
    pub is_active: bool,
    /// Whether it takes entries, and is not being sent a snapshot.
    pub replicates: bool,
    /// Whether its own shard says that its data is lost.
    pub is_lost: bool,
}

impl Progress {
    /// Whether it is heard, and few entries are missing up to the last.
    pub fn has_caught_up(&self, last: u64) -> bool {
        let missing = last.saturating_sub(self.matched);
        self.is_active && self.replicates && missing <= CAUGHT_UP
    }
}

/// What a leader goes by.
pub(crate) struct Known<'a> {
    pub descriptor: &'a Descriptor,
    /// Where replicas should be.
    pub target: &'a [ShardAddress],
    /// How many should vote.
    pub count: usize,
    /// The leader's own number.
    pub own: u64,
    /// Of the other replicas.
    pub progress: &'a BTreeMap<u64, Progress>,
    /// The last entry of the leader's log.
    pub last: u64,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Repair {
    /// Two configurations vote: the new one is to vote alone.
    Leave,
    /// A learner goes.
    Remove(u64),
    /// A replica is to be prepared there, and then to be a learner.
    Prepare(ShardAddress),
    /// Learners begin to vote, and voters go.
    Enter { add: Vec<u64>, remove: Vec<u64> },
    /// Nothing for now, and why.
    Wait(Wait),
    /// All is as it should be.
    Nothing,
}

/// The obstacle to a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// A learner has not caught up.
    Copy,
    /// Too few of the new voters were heard.
    Majority,
    /// Another replica is to lead first.
    Leader,
    /// There is no place for another replica.
    Room,
}

impl Known<'_> {
    fn is_lost(&self, member: &Member) -> bool {
        self.progress.get(&member.id).is_some_and(|p| p.is_lost)
    }

    fn is_active(&self, id: u64) -> bool {
        id == self.own || self.progress.get(&id).is_some_and(|p| p.is_active)
    }

    fn has_caught_up(&self, id: u64) -> bool {
        let progress = self.progress.get(&id);
        progress.is_some_and(|progress| progress.has_caught_up(self.last))
    }

    fn is_wanted(&self, member: &Member) -> bool {
        self.target.contains(&member.at)
    }

    /// A place of the target without a replica that has its data.
    fn free_place(&self) -> Option<ShardAddress> {
        let holds = |at: &ShardAddress| {
            let members = self.descriptor.members.iter();
            let mut there = members.filter(|member| member.at == *at);
            there.any(|member| !self.is_lost(member))
        };
        self.target.iter().find(|at| !holds(at)).copied()
    }
}

/// The next step.
pub(crate) fn next_step(known: &Known<'_>) -> Repair {
    let descriptor = known.descriptor;
    let Some(own) = descriptor.member(known.own) else {
        return Repair::Nothing;
    };
    if descriptor.is_joint() {
        // An outgoing leader would be removed while it leads.
        return match own.role {
            Role::Outgoing => Repair::Wait(Wait::Leader),
            _ => Repair::Leave,
        };
    }
    let learners: Vec<&Member> = descriptor.of(Role::Learner).collect();
    let is_useless = |member: &&&Member| known.is_lost(member) || !known.is_wanted(member);
    if let Some(useless) = learners.iter().find(is_useless) {
        return Repair::Remove(useless.id);
    }
    let voters: Vec<&Member> = descriptor.of(Role::Voter).collect();
    let lost = voters.iter().find(|member| known.is_lost(member));
    let outside = voters.iter().rev().find(|member| !known.is_wanted(member));
    let missing = known.count.saturating_sub(voters.len());
    let (add, goes) = match (lost, outside) {
        (Some(lost), _) if voters.len() <= known.count => (1, Some(lost.id)),
        // One voter and another are less than one: both that are missing come at once.
        (None, _) if missing > 0 => (missing, None),
        (None, Some(outside)) if voters.len() == known.count => (1, Some(outside.id)),
        _ => (0, None),
    };
    if learners.len() < add {
        let place = known.free_place();
        return place.map_or(Repair::Wait(Wait::Room), Repair::Prepare);
    }
    if add > 0 {
        return swap(known, &voters, &learners[..add], goes);
    }
    if voters.len() > known.count {
        let others = || voters.iter().rev().filter(|member| member.id != known.own);
        let goes = others().find(|member| known.is_lost(member));
        let goes = goes.or_else(|| others().find(|member| !known.is_wanted(member)));
        return match goes.or_else(|| others().next()) {
            Some(goes) => enter(known, &voters, Vec::new(), Some(goes.id)),
            None => Repair::Nothing,
        };
    }
    match learners.first() {
        // Others have made it useless.
        Some(learner) => Repair::Remove(learner.id),
        None => Repair::Nothing,
    }
}

fn swap(known: &Known<'_>, voters: &[&Member], learners: &[&Member], goes: Option<u64>) -> Repair {
    if !learners
        .iter()
        .all(|learner| known.has_caught_up(learner.id))
    {
        return Repair::Wait(Wait::Copy);
    }
    let add = learners.iter().map(|learner| learner.id).collect();
    enter(known, voters, add, goes)
}

fn enter(known: &Known<'_>, voters: &[&Member], add: Vec<u64>, goes: Option<u64>) -> Repair {
    if goes == Some(known.own) {
        return Repair::Wait(Wait::Leader);
    }
    let stays = voters.iter().map(|member| member.id);
    let stays = stays.filter(|id| Some(*id) != goes);
    let new: Vec<u64> = stays.chain(add.iter().copied()).collect();
    let active = new.iter().filter(|id| known.is_active(**id)).count();
    if 2 * active <= new.len() {
        return Repair::Wait(Wait::Majority);
    }
    Repair::Enter {
        add,
        remove: goes.into_iter().collect(),
    }
}

#[cfg(test)]
#[path = "next_step_tests.rs"]
mod tests;
