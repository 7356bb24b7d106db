//! The one task that takes all replicas of a shard on: what came in, proposals, reads, the log's progress, ticks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;

use dunlin_node::Sabotage;
use dunlin_proto::Condition;
use dunlin_versions::{Command, Lookup, Tier, holds};
use raft::{Error, RawNode, StateRole};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};

use dunlin_raftlog::GroupStorage;

use crate::group::{Group, Inbound, leader_of};
use crate::ranges::AtShard;
use crate::wire::Answer;

/// Raft's unit of time.
const TICK: Duration = Duration::from_millis(100);
/// A replica that waits for a snapshot which nobody fetches is offered another after so many ticks.
const SNAPSHOT_TICKS: u32 = 30;

impl AtShard {
    /// Takes all replicas on, for as long as the shard runs.
    pub async fn drive(self: Rc<Self>) {
        let mut tick_at = Instant::now() + TICK;
        loop {
            let woken = self.wake.notified();
            if !self.is_any_dirty() {
                tokio::select! {
                    biased;
                    () = woken => {}
                    () = sleep_until(tick_at) => {}
                }
            }
            let now = Instant::now();
            let is_tick = now >= tick_at;
            if is_tick {
                // What was missed while the process stood still is not made up for: others would be unseated.
                tick_at = now + TICK;
            }
            let groups: Vec<Rc<Group>> = self.groups.borrow().values().cloned().collect();
            for group in groups {
                if group.is_dirty.take() | is_tick && group.failed.borrow().is_none() {
                    let turn = AssertUnwindSafe(|| self.turn(&group, is_tick));
                    match catch_unwind(turn) {
                        Ok(Ok(())) => {}
                        Ok(Err(why)) => group.fail(&why),
                        Err(_) => group.fail("raft has found a contradiction; see the log"),
                    }
                }
            }
            self.send_all();
            // Others put more into the queues meanwhile, which goes together.
            yield_now().await;
        }
    }

    /// Tells replicas when the log has come further.
    pub async fn follow_log(self: Rc<Self>) {
        let mut seen = self.log.log().progress();
        loop {
            seen = self.log.log().changed(&seen).await;
            let groups: Vec<Rc<Group>> = self.groups.borrow().values().cloned().collect();
            if let Some(failure) = &seen.failed {
                for group in groups {
                    group.fail(&format!("its log failed: {failure}; restart the node"));
                }
                return;
            }
            for group in groups {
                if !group.persisting.borrow().is_empty() {
                    self.touch(&group);
                }
            }
        }
    }

    fn is_any_dirty(&self) -> bool {
        self.groups
            .borrow()
            .values()
            .any(|group| group.is_dirty.get())
    }

    fn turn(&self, group: &Group, is_tick: bool) -> Result<(), String> {
        let node = &mut *group.node.borrow_mut();
        let led = node.raft.state == StateRole::Leader;
        if is_tick {
            node.tick();
            group.draw(node);
            group.reads.borrow_mut().tick();
            tick_snapshots(group, node);
        }
        loop {
            let next = group.inbox.borrow_mut().pop_front();
            let Some(inbound) = next else { break };
            self.take(group, node, inbound);
            group.draw(node);
        }
        self.propose(group, node);
        begin_reads(group, node);
        self.persisted(group, node)?;
        while node.has_ready() {
            self.handle_ready(group, node)?;
            group.draw(node);
            begin_reads(group, node);
            self.persisted(group, node)?;
        }
        self.let_read(group);
        if node.raft.state != StateRole::Leader {
            let leader = leader_of(node);
            for waiter in group.reads.borrow_mut().drain() {
                drop(waiter.send(Answer::NotLeader(leader)));
            }
            if led {
                // Another decides now what becomes of them.
                group.forget_pending();
                group.snapshot_ticks.borrow_mut().clear();
            }
        }
        Ok(())
    }

    fn take(&self, group: &Group, node: &mut RawNode<GroupStorage>, inbound: Inbound) {
        let stepped = match inbound {
            Inbound::Message(message) if self.is_fetched_first(group, &message) => {
                self.fetch(group, message);
                Ok(())
            }
            Inbound::Message(message) => node.step(*message),
            Inbound::Installed(message) => node.step(*message),
            Inbound::Unreachable(id) => {
                node.report_unreachable(id);
                Ok(())
            }
        };
        if let Err(error) = stepped {
            tracing::debug!(%error, keyspace = group.id, "a message between replicas is left out");
        }
    }

    /// No await lies between the look at who leads and the proposal.
    fn propose(&self, group: &Group, node: &mut RawNode<GroupStorage>) {
        let mut proposals = group.proposals.borrow_mut();
        if proposals.is_empty() {
            return;
        }
        let Some(services) = self.services.upgrade() else {
            return;
        };
        let leader = leader_of(node);
        for (mut data, waiter) in proposals.drain(..) {
            if waiter.is_closed() {
                continue;
            }
            if node.raft.state != StateRole::Leader {
                drop(waiter.send(Answer::NotLeader(leader)));
                continue;
            }
            let Ok(clock) = services.stamp_clock() else {
                drop(waiter.send(Answer::Clock));
                continue;
            };
            Command::set_clock(&mut data, clock);
            if self.sabotage == Sabotage::JudgeAtLeader
                && let Some(verdict) = self.judge_here(group, &mut data)
            {
                drop(waiter.send(verdict));
                continue;
            }
            match node.propose(Vec::new(), data) {
                Ok(()) => {
                    let (index, term) = (node.raft.raft_log.last_index(), node.raft.term);
                    group.pending.borrow_mut().insert(index, (term, waiter));
                }
                Err(Error::ProposalDropped) => drop(waiter.send(Answer::Busy)),
                Err(error) => drop(waiter.send(Answer::Failed(error.to_string()))),
            }
        }
    }
}

impl AtShard {
    /// A deliberate bug, for the simulation to find: a condition is judged by what the leader has applied, and forgotten.
    fn judge_here(&self, group: &Group, data: &mut Vec<u8>) -> Option<Answer> {
        let mut command = Command::decode(data.clone().into()).ok()?;
        let place = group.meta.get().place;
        let current = match self.store.get(place, &command.key, Tier::Disk).ok()? {
            Lookup::Found(found) => found.value.map(|_| found.version),
            _ => None,
        };
        let holds = holds(command.condition, current);
        command.condition = Condition::None;
        *data = command.encode();
        (!holds).then_some(Answer::ConditionFailed(current))
    }
}

/// `raft` drops what comes before its term's first commit without a word: it is asked again later.
fn begin_reads(group: &Group, node: &mut RawNode<GroupStorage>) {
    if node.raft.state == StateRole::Leader
        && node.raft.commit_to_current_term()
        && let Some(number) = group.reads.borrow_mut().begin()
    {
        node.read_index(number.to_le_bytes().to_vec());
    }
}

/// A leader waits for a snapshot to arrive before it sends more: one that nobody fetches is offered anew.
fn tick_snapshots(group: &Group, node: &mut RawNode<GroupStorage>) {
    let mut waiting = group.snapshot_ticks.borrow_mut();
    if node.raft.state != StateRole::Leader {
        return waiting.clear();
    }
    let serving = group.serving.borrow();
    let in_snapshot = |progress: &raft::Progress| progress.state == raft::ProgressState::Snapshot;
    let behind: Vec<u64> = (node.raft.prs().iter())
        .filter(|(_, progress)| in_snapshot(progress))
        .map(|(id, _)| *id)
        .collect();
    waiting.retain(|id, _| behind.contains(id));
    for id in behind {
        let ticks = waiting.entry(id).or_default();
        *ticks = if serving.contains_key(&id) {
            0
        } else {
            *ticks + 1
        };
        if *ticks > SNAPSHOT_TICKS {
            *ticks = 0;
            node.report_snapshot(id, raft::SnapshotStatus::Failure);
        }
    }
}
