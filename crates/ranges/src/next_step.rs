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
    /// Whether its clock is wrong, where that of a leader must be right.
    pub has_wrong_clock: bool,
    /// Whether it knows that the last change of the replicas is committed: before, `raft` has it lead nothing.
    pub knows: bool,
}

impl Progress {
    /// Whether it can take the lead at once.
    pub fn can_lead(&self, last: u64) -> bool {
        self.knows && !self.is_lost && !self.has_wrong_clock && self.has_caught_up(last)
    }

    /// Whether it is heard, and few entries are missing up to the last.
    pub fn has_caught_up(&self, last: u64) -> bool {
        let missing = last.saturating_sub(self.matched);
        self.is_active && self.replicates && missing <= CAUGHT_UP
    }
}

/// What a leader goes by.
pub(crate) struct Known<'a> {
    pub descriptor: &'a Descriptor,
    /// Where replicas should be; the first leads.
    pub target: &'a [ShardAddress],
    /// Number of that target.
    pub planned: u64,
    /// Whether all replicas were as they should be for a while.
    pub is_calm: bool,
    /// Whether timestamps are ahead of the clock by so little that another may lead: that takes them further.
    pub may_transfer: bool,
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
    /// A newer target is there.
    Follow,
    /// Another replica is to lead.
    Transfer(u64),
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
    /// Another replica is to lead first, and none can yet.
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

    /// The next leader: the first of the target that can lead, and stays.
    fn successor(&self, goes: Option<u64>) -> Repair {
        let preferred = |member: &&Member| {
            let at = self.target.iter().position(|at| *at == member.at);
            (at.unwrap_or(usize::MAX), member.id)
        };
        let votes = self.descriptor.voters();
        let stays = votes.filter(|member| member.id != self.own && Some(member.id) != goes);
        let can = stays.filter(|member| {
            let progress = self.progress.get(&member.id);
            progress.is_some_and(|progress| progress.can_lead(self.last))
        });
        match can.min_by_key(preferred) {
            Some(member) if self.may_transfer => Repair::Transfer(member.id),
            _ => Repair::Wait(Wait::Leader),
        }
    }

    /// All replicas are as they should be: the first of the target is to lead, but leaders change rarely.
    fn lead(&self) -> Repair {
        let own = self.descriptor.member(self.own).map(|own| own.at);
        let is_first = own.as_ref() == self.target.first();
        let first = self.descriptor.voters();
        let mut first = first.filter(|member| Some(&member.at) == self.target.first());
        let Some(first) = first.next().filter(|_| !is_first && self.is_calm) else {
            return Repair::Nothing;
        };
        let progress = self.progress.get(&first.id);
        if self.may_transfer && progress.is_some_and(|progress| progress.can_lead(self.last)) {
            Repair::Transfer(first.id)
        } else {
            Repair::Nothing
        }
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
            Role::Outgoing => known.successor(None),
            _ => Repair::Leave,
        };
    }
    if own.role != Role::Voter {
        return Repair::Nothing;
    }
    if known.planned > descriptor.target {
        return Repair::Follow;
    }
    // The metadata has lost the target that is followed: replicas stay where they are until there is a newer one.
    let stay: Vec<ShardAddress> = descriptor.of(Role::Voter).map(|member| member.at).collect();
    let target = if known.planned < descriptor.target {
        &stay
    } else {
        known.target
    };
    replicas(&Known { target, ..*known })
}

/// The next step towards the replicas of the target.
fn replicas(known: &Known<'_>) -> Repair {
    let (descriptor, count) = (known.descriptor, known.target.len());
    let learners: Vec<&Member> = descriptor.of(Role::Learner).collect();
    let is_useless = |member: &&&Member| known.is_lost(member) || !known.is_wanted(member);
    if let Some(useless) = learners.iter().find(is_useless) {
        return Repair::Remove(useless.id);
    }
    let voters: Vec<&Member> = descriptor.of(Role::Voter).collect();
    let lost = voters.iter().find(|member| known.is_lost(member));
    // The leader goes last.
    let mut outside = voters
        .iter()
        .rev()
        .filter(|member| !known.is_wanted(member));
    let is_other = |member: &&&Member| member.id != known.own;
    let outside = (outside.clone().find(is_other)).or_else(|| outside.next());
    let missing = count.saturating_sub(voters.len());
    let (add, goes) = match (lost, outside) {
        (Some(lost), _) if voters.len() <= count => (1, Some(lost.id)),
        // One voter and another are less than one: both that are missing come at once.
        (None, _) if missing > 0 => (missing, None),
        (None, Some(outside)) if voters.len() == count => (1, Some(outside.id)),
        _ => (0, None),
    };
    if learners.len() < add {
        let place = known.free_place();
        return place.map_or(Repair::Wait(Wait::Room), Repair::Prepare);
    }
    if add > 0 {
        return swap(known, &voters, &learners[..add], goes);
    }
    if voters.len() > count {
        let others = || voters.iter().rev().filter(is_other);
        let goes = others().find(|member| known.is_lost(member)).or(outside);
        return match goes.or_else(|| others().next()) {
            Some(goes) => enter(known, &voters, Vec::new(), Some(goes.id)),
            None => Repair::Nothing,
        };
    }
    match learners.first() {
        // Others have made it useless.
        Some(learner) => Repair::Remove(learner.id),
        None => known.lead(),
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
    // One that is alone is joined by the next, which leads before it goes.
    let goes = goes.filter(|goes| voters.len() > 1 || *goes != known.own);
    enter(known, voters, add, goes)
}

fn enter(known: &Known<'_>, voters: &[&Member], add: Vec<u64>, goes: Option<u64>) -> Repair {
    if goes == Some(known.own) {
        return known.successor(goes);
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
