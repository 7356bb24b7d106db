//! Entries for the log of a range that is led here.

use std::collections::VecDeque;

use dunlin_entry::Version;
use dunlin_node::Sabotage;
use dunlin_proto::Condition;
use dunlin_raftlog::GroupStorage;
use dunlin_txn::{Answer, Command, Leader, State, Verdict, holds};
use dunlin_versions::{Lookup, Tier};
use raft::{Error, RawNode, StateRole};

use crate::group::{Group, Lead, Waiter, leader_of};
use crate::plug::Part;
use crate::ranges::AtShard;

/// The reply to a waiter.
type Reply = Result<Verdict, Answer>;

impl AtShard {
    /// Proposes what waits for it. No await lies between the look at who leads and the proposal.
    pub fn propose(&self, group: &Group, node: &mut RawNode<GroupStorage>) {
        if group.proposals.borrow().is_empty() || is_held(group, node) {
            return;
        }
        let (mut proposals, mut later) = (group.proposals.borrow_mut(), VecDeque::new());
        for (command, waiter) in proposals.drain(..) {
            if waiter.is_closed() {
                continue;
            }
            if self.health.is_full() && command.has_values() {
                drop(waiter.send(Err(Answer::NoSpace)));
                continue;
            }
            if !self.may_add(group) && command.has_values() {
                later.push_back((command, waiter));
                continue;
            }
            let command = match self.sabotage {
                Sabotage::JudgeAtLeader => self.judge_here(group, command),
                _ => Ok(command),
            };
            let proposed = command.map_err(Ok).and_then(|command| {
                let proposed = Self::propose_one(group, node, &command, Leader::proposed)?;
                self.end_lock(group, &command);
                Ok(proposed)
            });
            await_applied(group, proposed, waiter);
        }
        *proposals = later;
    }

    /// Makes an entry from the state and the leader's memory, and proposes it.
    pub fn propose_made<T>(
        &self,
        group: &Group,
        make: impl FnOnce(&State, &Leader) -> Result<Result<Command, T>, Answer>,
        waiter: Waiter,
    ) -> Result<Result<(), T>, Answer> {
        let node = &mut *group.node.borrow_mut();
        if !group.serves_with(node) {
            let leader = leader_of(node);
            return Err(group.led_by(leader));
        }
        let made = match &*group.lead.borrow() {
            Some((_, Lead::Keys(leader))) => make(&group.state.borrow(), leader)?,
            _ => return Err(Answer::NotLeader(None)),
        };
        Ok(made.map(|command| {
            let proposed = Self::propose_one(group, node, &command, Leader::proposed_expected);
            await_applied(group, proposed, waiter);
        }))
    }

    /// Whether all that waits is proposed, and more may be.
    pub fn may_propose(&self, group: &Group) -> bool {
        let node = &mut *group.node.borrow_mut();
        self.propose(group, node);
        !is_held(group, node) && self.may_add(group)
    }

    /// Whether entries with values may be added to the log of a range.
    fn may_add(&self, group: &Group) -> bool {
        group.others.allowance.get() != Some(0) && !self.is_store_behind() && !self.health.is_full()
    }

    /// Proposes an entry: its index and term, or the reply to its waiter.
    fn propose_one(
        group: &Group,
        node: &mut RawNode<GroupStorage>,
        command: &Command,
        note: impl FnOnce(&mut Leader, &Command, u64),
    ) -> Result<(u64, u64), Reply> {
        let mut lead = group.lead.borrow_mut();
        let lead = lead.as_mut().filter(|(term, _)| *term == node.raft.term);
        let Some((_, lead)) = lead.filter(|_| node.raft.state == StateRole::Leader) else {
            return Err(Err(group.led_by(leader_of(node))));
        };
        if let Lead::Keys(leader) = &lead
            && let Err(refused) = leader.may_propose(command)
        {
            return Err(Ok(Verdict::Blocked(refused)));
        }
        let entry = command.encode();
        let allowance = group.others.allowance.get();
        let left = allowance.map(|bytes| bytes.saturating_sub(entry.len()));
        match node.propose(Vec::new(), entry) {
            Ok(()) => {
                group.others.allowance.set(left);
                let (index, term) = (node.raft.raft_log.last_index(), node.raft.term);
                if let Lead::Keys(leader) = lead {
                    note(leader, command, index);
                }
                Ok((index, term))
            }
            Err(Error::ProposalDropped) => Err(Err(Answer::Busy)),
            Err(error) => Err(Err(Answer::Failed(error.to_string()))),
        }
    }

    /// The lock ends under which a transaction has read that is proposed to commit; the next has its turn.
    fn end_lock(&self, group: &Group, command: &Command) {
        let (Some((_, Lead::Keys(leader))), Some(services)) =
            (&mut *group.lead.borrow_mut(), self.services.upgrade())
        else {
            return;
        };
        let part = services.find::<Part>();
        let next = part.and_then(|part| leader.end_lock(command, part.elapsed_ms()));
        if let Some(next) = next {
            drop(group.tending.waiters.borrow_mut().remove(&next));
        }
    }

    /// A deliberate bug, for the simulation to find: a condition is judged by what the leader has applied, and forgotten.
    fn judge_here(&self, group: &Group, command: Command) -> Result<Command, Verdict> {
        let Command::Write {
            at,
            condition,
            write,
        } = command
        else {
            return Ok(command);
        };
        let place = group.meta.get().place;
        let current = match self.store.get(place, &write.key, Version::MAX, Tier::Disk) {
            Ok(Lookup::Found(found)) => found.value.map(|_| found.version),
            _ => None,
        };
        if holds(condition, current) {
            Ok(Command::Write {
                at,
                condition: Condition::None,
                write,
            })
        } else {
            Err(Verdict::ConditionFailed(current))
        }
    }
}

/// Whether proposals wait until the next leader is known.
fn is_held(group: &Group, node: &RawNode<GroupStorage>) -> bool {
    let is_unled = node.raft.state == StateRole::Leader || leader_of(node).is_none();
    group.others.is_held.get() && is_unled
}

fn await_applied(group: &Group, proposed: Result<(u64, u64), Reply>, waiter: Waiter) {
    match proposed {
        Ok((index, term)) => {
            let mut pending = group.pending.borrow_mut();
            pending.insert(index, (term, waiter));
        }
        Err(reply) => drop(waiter.send(reply)),
    }
}
