//! The one task that takes all replicas of a shard on: what came in, proposals, reads, the log's progress, ticks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use dunlin_log::Progress;
use dunlin_txn::{Leader, Oracle};
use raft::eraftpb::MessageType;
use raft::{RawNode, StateRole};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, sleep_until};

use dunlin_raftlog::GroupStorage;

use crate::group::{Group, Inbound, Lead, leader_of};
use crate::health::{Duty, TICK};
use crate::hold::hold_bytes;
use crate::ranges::AtShard;

/// A replica that waits for a snapshot which nobody fetches is offered another after so many ticks.
const SNAPSHOT_TICKS: u32 = 30;
/// Bytes of committed entries of a shard that may wait until its store takes writes; then it takes no more of them from
/// other leaders.
const UNAPPLIED_MAX: usize = 64 << 20;
/// Its own leaders propose no more values from here on.
const UNAPPLIED_OF_LEADERS: usize = UNAPPLIED_MAX / 8;

impl AtShard {
    /// Takes all replicas on, for as long as the shard runs.
    pub async fn drive(self: Rc<Self>) {
        let mut tick_at = Instant::now() + TICK;
        let log = self.log.log();
        let mut seen = log.progress();
        loop {
            let woken = self.wake.notified();
            if self.dirty.borrow().is_empty() {
                tokio::select! {
                    biased;
                    () = woken => {}
                    progress = log.changed(&seen) => seen = self.come_further(progress),
                    () = sleep_until(tick_at) => {}
                }
            }
            let progress = log.progress();
            if progress != seen {
                seen = self.come_further(progress);
            }
            let now = Instant::now();
            let is_tick = now >= tick_at;
            let dirty = self.dirty.take();
            let groups: Vec<Rc<Group>> = if is_tick {
                self.count_unapplied();
                self.tick_health();
                // What was missed while the process stood still is not made up for: others would be unseated.
                tick_at = now + TICK;
                self.groups.borrow().values().cloned().collect()
            } else {
                dirty.into_iter().filter_map(|id| self.group(id)).collect()
            };
            for group in groups {
                self.guarded_turn(&group, is_tick);
            }
            self.send_all();
            if !self.dirty.borrow().is_empty() {
                // Others put more into the queues meanwhile, which goes together.
                yield_now().await;
            }
        }
    }

    /// Has replicas have a turn that wait for the log, which has come further.
    fn come_further(&self, progress: Progress) -> Progress {
        for group in self.groups.borrow().values() {
            if let Some(failure) = &progress.failed {
                group.fail(&format!("its log failed: {failure}; restart the node"));
            } else if !group.persisting.borrow().is_empty() {
                self.touch(group);
            }
        }
        progress
    }

    /// A turn of a replica that has not failed; it has failed where this panics.
    fn guarded_turn(self: &Rc<Self>, group: &Rc<Group>, is_tick: bool) {
        group.is_dirty.set(false);
        if group.failed.borrow().is_some() {
            return;
        }
        let turn = AssertUnwindSafe(|| self.turn(group, is_tick));
        match catch_unwind(turn) {
            Ok(Ok(())) => {}
            Ok(Err(why)) => group.fail(&why),
            Err(_) => group.fail("raft has found a contradiction; see the log"),
        }
    }

    /// Has a replica have its turn: now, where it was idle, and else with all that comes until then.
    pub fn turn_now_if(self: &Rc<Self>, was_idle: bool, group: &Rc<Group>) {
        if was_idle {
            self.guarded_turn(group, false);
            self.send_all();
        } else {
            self.touch(group);
        }
    }

    fn turn(self: &Rc<Self>, group: &Rc<Group>, is_tick: bool) -> Result<(), String> {
        let node = &mut *group.node.borrow_mut();
        let led = node.raft.state == StateRole::Leader;
        if is_tick {
            self.tick_node(group, node);
            group.draw(node);
            group.reads.borrow_mut().tick();
            group.others.tick();
            tick_snapshots(group, node);
            self.throttle(group, node);
        }
        loop {
            let next = group.inbox.borrow_mut().pop_front();
            let Some(inbound) = next else { break };
            self.take(group, node, inbound);
            group.draw(node);
        }
        self.apply_waiting(group, node)?;
        self.propose(group, node);
        propose_change(group, node);
        begin_reads(group, node);
        self.persisted(group, node)?;
        while node.has_ready() {
            self.handle_ready(group, node)?;
            group.draw(node);
            begin_reads(group, node);
            self.persisted(group, node)?;
        }
        self.let_read(group);
        self.lead(group, node);
        if node.raft.state != StateRole::Leader {
            let leader = leader_of(node);
            for waiter in group.reads.borrow_mut().drain() {
                drop(waiter.send(Err(group.led_by(leader))));
            }
            if led {
                // Another decides now what becomes of them.
                group.forget_pending();
                group.snapshot_ticks.borrow_mut().clear();
            }
        }
        Ok(())
    }

    /// Whether its leaders propose no values for now, for the store does not take what they have proposed before.
    pub fn is_store_behind(&self) -> bool {
        self.unapplied_bytes.get() > UNAPPLIED_OF_LEADERS
    }

    /// Slows proposals down while a replica gets a copy, so that all entries behind it can be held.
    fn throttle(&self, group: &Group, node: &RawNode<GroupStorage>) {
        let held = group.hold_from(node);
        let held = held.map(|from| group.storage.log().borrow().bytes_behind(from));
        if held.is_none() && group.others.allowance.get().is_none() {
            return;
        }
        let groups = self.groups.borrow();
        let copied = |group: &&Rc<Group>| !group.others.copies.borrow().is_empty();
        let most = hold_bytes(groups.values().filter(copied).count());
        group.others.throttle(held, most);
    }

    fn take(&self, group: &Group, node: &mut RawNode<GroupStorage>, inbound: Inbound) {
        let stepped = match inbound {
            // It is sent again, until the store takes those before it.
            Inbound::Message(message)
                if message.get_msg_type() == MessageType::MsgAppend
                    && self.unapplied_bytes.get() > UNAPPLIED_MAX =>
            {
                Ok(())
            }
            // Another is to lead: this one could not serve.
            Inbound::Message(message)
                if message.get_msg_type() == MessageType::MsgTimeoutNow
                    && self.duty(group, false) == Duty::Wait =>
            {
                Ok(())
            }
            Inbound::Message(message) if self.is_fetched_first(group, &message) => {
                self.fetch(group, message);
                Ok(())
            }
            Inbound::Message(message) => node.step(*message),
            Inbound::Installed(message, descriptor) => {
                group.others.installed.replace(Some(descriptor));
                node.step(*message)
            }
            Inbound::Unreachable(id) => {
                node.report_unreachable(id);
                Ok(())
            }
            Inbound::HandOver(id) => {
                node.transfer_leader(id);
                Ok(())
            }
            Inbound::KeepLead => {
                node.raft.abort_leader_transfer();
                Ok(())
            }
        };
        if let Err(error) = stepped {
            tracing::debug!(%error, range = group.id, "a message between replicas is left out");
        }
    }

    /// Begins to lead, or ceases to.
    fn lead(self: &Rc<Self>, group: &Rc<Group>, node: &RawNode<GroupStorage>) {
        let before = group.lead.borrow().as_ref().map(|(term, _)| *term);
        let leads = node.raft.state == StateRole::Leader;
        if before.is_some() && (!leads || before != Some(node.raft.term)) {
            group.lead.take();
            group.tending.waiters.take();
            group.moved.notify_waiters();
        }
        let Some(term) = group.leads_in(node).filter(|term| before != Some(*term)) else {
            return;
        };
        // Not known of changes from before its start.
        let changed_at = &group.others.changed_at;
        changed_at.set(changed_at.get().max(group.meta.get().applied));
        if group.is_oracle {
            let oracle = Oracle::new(group.meta.get().greatest);
            *group.lead.borrow_mut() = Some((term, Lead::Timestamps(oracle)));
        } else if !group.is_taking_lead.replace(true) {
            let (own, group) = (self.clone(), group.clone());
            tokio::task::spawn_local(async move {
                own.take_lead(&group, term).await;
                group.is_taking_lead.set(false);
                own.touch(&group);
            });
        }
    }

    /// Takes all keys for read at a timestamp that is given now: what was read before is not known here.
    async fn take_lead(&self, group: &Group, term: u64) {
        let Some(services) = self.services.upgrade() else {
            return;
        };
        // What was read before was read at what the oracle gave before, or no further than the last lease.
        let above = group.meta.get().greatest;
        let given = crate::stamps::timestamp(&services, above).await;
        let Ok(floor) = given else {
            return sleep(TICK).await;
        };
        let leads = group.leads_in(&group.node.borrow());
        if leads == Some(term) && group.failed.borrow().is_none() {
            let leader = Box::new(Leader::new(floor, self.groups.borrow().len()));
            *group.lead.borrow_mut() = Some((term, Lead::Keys(leader)));
        }
    }
}

/// Proposes a change of the replicas, if there is one: whether it counts is decided when it is applied.
fn propose_change(group: &Group, node: &mut RawNode<GroupStorage>) {
    let Some(change) = group.others.change.take() else {
        return;
    };
    if node.raft.state == StateRole::Leader && !node.raft.has_pending_conf() {
        // The next look for a step tries again.
        drop(node.propose_conf_change(Vec::new(), change.conf_change()));
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
