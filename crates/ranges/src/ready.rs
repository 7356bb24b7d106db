//! What raft hands out: entries to the log, committed ones to the store, messages to others, and answers to who waits.

use std::rc::Rc;

use bytes::Bytes;
use dunlin_log::AppendError;
use dunlin_node::Sabotage;
use dunlin_raftlog::{GroupStorage, Position, Record, Vote};
use dunlin_txn::{Answer, Command, Verdict};
use dunlin_versions::{Applied, Entries, Meta, StoreError};
use prost::Message as _;
use raft::eraftpb::{ConfChangeSingle, ConfChangeV2, ConfState, Entry, EntryType};
use raft::{GetEntriesContext, RawNode, Ready, StateRole};

use crate::descriptor::{self, Descriptor};
use crate::group::{Group, Lead, Persisting, applied};
use crate::ranges::AtShard;

impl AtShard {
    /// Handles what a node hands out. What must be durable first waits in `persisting`.
    pub fn handle_ready(
        &self,
        group: &Group,
        node: &mut RawNode<GroupStorage>,
    ) -> Result<(), String> {
        let mut ready = node.ready();
        self.send(group, ready.take_messages());
        let snapshot = if ready.snapshot().is_empty() {
            None
        } else {
            Some(ready.snapshot().get_metadata().clone())
        };
        if snapshot.is_some() {
            group.forget_pending();
            // It brings more than they would.
            group.unapplied.borrow_mut().clear();
            if let Some(descriptor) = group.others.installed.take()
                && self.sabotage != Sabotage::KeepOldConfiguration
            {
                group.others.set(descriptor);
            }
        }
        let committed = ready.take_committed_entries();
        let has_change = committed.iter().any(is_change);
        self.await_store(group, committed);
        for state in ready.take_read_states() {
            if let Ok(number) = state.request_ctx.as_slice().try_into() {
                let number = u64::from_le_bytes(number);
                group.reads.borrow_mut().confirm(number, state.index);
            }
        }
        let record = record_of(group, &mut ready, node.raft.raft_log.committed, has_change);
        let number = ready.number();
        let messages = ready.take_persisted_messages();
        let mut persisting = Persisting {
            record: None,
            index: 0,
            number,
            messages,
            snapshot: snapshot.as_ref().map(|metadata| metadata.index),
            has_change,
        };
        if let Some(record) = record {
            self.write(group, &mut persisting, record)?;
        }
        group.persisting.borrow_mut().push_back(persisting);
        node.advance_append_async(ready);
        self.apply_waiting(group, node)
    }

    /// Writes a record, now or when the log takes it: what raft reads must be there at once all the same.
    fn write(
        &self,
        group: &Group,
        persisting: &mut Persisting,
        record: Record,
    ) -> Result<(), String> {
        // What is to be written before it goes first.
        let waits = group
            .persisting
            .borrow()
            .iter()
            .any(|before| before.record.is_some());
        let written = match waits {
            true => Err(AppendError::Backlog),
            false if self.sabotage == Sabotage::SnapshotWithoutRecord && record.begin.is_some() => {
                let without = Record {
                    begin: None,
                    ..record.clone()
                };
                self.log.append(&without)
            }
            false => self.log.append(&record),
        };
        match written {
            Ok(index) => {
                persisting.index = index;
                self.log.take(record);
            }
            Err(AppendError::Failed(failure)) => {
                return Err(format!("its log failed: {failure}; restart the node"));
            }
            Err(_) => {
                self.log.take(record.clone());
                persisting.record = Some(record);
            }
        }
        Ok(())
    }

    /// Takes note of what is durable by now.
    pub fn persisted(&self, group: &Group, node: &mut RawNode<GroupStorage>) -> Result<(), String> {
        loop {
            let synced = self.synced(node);
            let done = {
                let mut persisting = group.persisting.borrow_mut();
                let Some(first) = persisting.front_mut() else {
                    break;
                };
                if let Some(record) = first.record.take() {
                    match self.log.append(&record) {
                        Ok(index) => first.index = index,
                        Err(AppendError::Failed(failure)) => {
                            return Err(format!("its log failed: {failure}; restart the node"));
                        }
                        // Asked again with the next tick.
                        Err(_) => first.record = Some(record),
                    }
                }
                if first.record.is_some() || first.index > synced {
                    break;
                }
                persisting.pop_front()
            };
            let Some(done) = done else { break };
            node.on_persist_ready(done.number);
            if let Some(index) = done.snapshot {
                node.advance_apply_to(index);
            }
            self.send(group, done.messages);
        }
        Ok(())
    }

    /// Up to where the log counts as durable.
    fn synced(&self, node: &RawNode<GroupStorage>) -> u64 {
        let log = self.log.log();
        match self.sabotage {
            Sabotage::RangeAckUnsynced => log.last(),
            // Votes are what is persisted while nobody leads.
            Sabotage::VoteUnsynced if node.raft.leader_id == 0 => log.last(),
            _ => log.synced(),
        }
    }

    /// Has committed entries wait until the store takes writes.
    fn await_store(&self, group: &Group, entries: Vec<Entry>) {
        let bytes = self.unapplied_bytes.get() + bytes_of(&entries);
        self.unapplied_bytes.set(bytes);
        group.unapplied.borrow_mut().extend(entries);
    }

    /// Counts again what waits at all replicas: some have failed or gone.
    pub fn count_unapplied(&self) {
        let groups = self.groups.borrow();
        let of_group = |group: &Rc<Group>| bytes_of(&*group.unapplied.borrow());
        self.unapplied_bytes
            .set(groups.values().map(of_group).sum());
    }

    /// Applies committed entries, unless the store is stopped: it would have all of the shard wait for a flush, which may
    /// hang with its disk. Tried again with the next tick.
    ///
    /// # Errors
    /// When the store fails.
    pub fn apply_waiting(
        &self,
        group: &Group,
        node: &mut RawNode<GroupStorage>,
    ) -> Result<(), String> {
        if group.unapplied.borrow().is_empty() {
            self.let_read(group);
            return Ok(());
        }
        if self.health.is_store_full()
            || self.store.is_stopped().map_err(|error| error.to_string())?
        {
            return Ok(());
        }
        let entries: Vec<Entry> = group.unapplied.take().into();
        let left = self
            .unapplied_bytes
            .get()
            .saturating_sub(bytes_of(&entries));
        self.unapplied_bytes.set(left);
        let last = entries.last().map(|entry| entry.index);
        match self.apply(group, node, entries) {
            Ok(()) => {}
            Err(Stopped::NoSpace(why)) => {
                self.health.store_is_full(&why);
                return self.await_again(group, node, last.unwrap_or(0));
            }
            Err(Stopped::Failed(why)) => return Err(why),
        }
        if let Some(last) = last {
            node.advance_apply_to(last);
        }
        self.let_read(group);
        Ok(())
    }

    /// Has entries up to an index wait again: the store had no space for them.
    fn await_again(
        &self,
        group: &Group,
        node: &RawNode<GroupStorage>,
        last: u64,
    ) -> Result<(), String> {
        // Those that were applied before are left out then.
        let log = &node.raft.raft_log;
        let next = log.applied + 1;
        let entries = log.slice(next, last + 1, None, GetEntriesContext::empty(false));
        let entries = entries.map_err(|error| error.to_string())?;
        let bytes = self.unapplied_bytes.get() + bytes_of(&entries);
        self.unapplied_bytes.set(bytes);
        let mut unapplied = group.unapplied.borrow_mut();
        entries
            .into_iter()
            .rev()
            .for_each(|entry| unapplied.push_front(entry));
        Ok(())
    }

    /// Applies committed entries, and answers their waiters.
    fn apply(
        &self,
        group: &Group,
        node: &mut RawNode<GroupStorage>,
        entries: Vec<Entry>,
    ) -> Result<(), Stopped> {
        let mut commands = Vec::with_capacity(entries.len());
        for entry in entries {
            if is_change(&entry) {
                self.apply_commands(group, std::mem::take(&mut commands))?;
                self.apply_change(group, node, &entry)?;
            } else {
                commands.push(entry);
            }
        }
        self.apply_commands(group, commands)
    }

    /// Applies a change of the replicas. A snapshot may have brought it to the store before, but not to `raft`.
    fn apply_change(
        &self,
        group: &Group,
        node: &mut RawNode<GroupStorage>,
        entry: &Entry,
    ) -> Result<(), Stopped> {
        // Before `raft` goes by it.
        self.store.check()?;
        let change = ConfChangeV2::decode(&*entry.data).map_err(|error| error.to_string())?;
        let meaning = descriptor::Entry::decode(change.context.clone().into());
        let meaning = meaning.map_err(|error| error.to_string())?;
        let before = group.others.descriptor.borrow().clone();
        let changed = before.and_then(|before| before.with(&meaning));
        let (changed, changes) = match self.sabotage {
            Sabotage::SkipJointOfRange => skip_joint(changed, change),
            _ => (changed, vec![change]),
        };
        if let Some(changed) = &changed {
            // A former leader proposed it, and this one cannot lead without being a replica. Others are elected.
            if changed.member(group.others.own).is_none() && node.raft.state == StateRole::Leader {
                node.raft.become_follower(node.raft.term, raft::INVALID_ID);
            }
            let mut state = ConfState::default();
            for change in &changes {
                let applied = node.apply_conf_change(change);
                state = applied.map_err(|error| error.to_string())?;
            }
            if !same_configuration(state, changed.conf_state()) {
                return Err(Stopped::Failed(
                    "raft makes another configuration of a change".to_owned(),
                ));
            }
            group.others.set(changed.clone());
            group.others.changed_at.set(entry.index);
        }
        if entry.index <= group.meta.get().applied {
            return Ok(());
        }
        let bytes = changed.as_ref().map(Descriptor::encode);
        let entries = Entries {
            commands: &[],
            index: entry.index,
            term: entry.term,
            descriptor: bytes.as_deref(),
        };
        self.store_applied(group, entries)?;
        if let Some(changed) = changed {
            group.storage.set_configuration(changed.conf_state());
        }
        Ok(())
    }

    /// Applies commands in one batch, and answers their waiters.
    fn apply_commands(&self, group: &Group, entries: Vec<Entry>) -> Result<(), Stopped> {
        let before = group.meta.get().applied;
        // A snapshot may have brought more than raft knows of.
        let entries: Vec<Entry> = (entries.into_iter())
            .filter(|entry| entry.index > before)
            .collect();
        let Some(last) = entries.last() else {
            return Ok(());
        };
        let (index, term) = (last.index, last.term);
        let mut commands = Vec::with_capacity(entries.len());
        let mut places = Vec::with_capacity(entries.len());
        for entry in entries {
            places.push((entry.index, entry.term, !entry.data.is_empty()));
            if !entry.data.is_empty() {
                let command = Command::decode(Bytes::from(entry.data));
                commands.push(command.map_err(|error| error.to_string())?);
            }
        }
        let entries = Entries {
            commands: &commands,
            index,
            term,
            descriptor: None,
        };
        let applied = self.store_applied(group, entries)?;
        if let Some((_, Lead::Keys(leader))) = &mut *group.lead.borrow_mut() {
            for (command, verdict) in commands.iter().zip(&applied.verdicts) {
                leader.ended(command, verdict);
            }
        }
        // What is written next, here and elsewhere, is stamped above it; but the end of a window, or of a lease, lies
        // ahead of the clock, and it must not run after it.
        if let Some(services) = self.services.upgrade().filter(|_| !group.is_oracle) {
            services.observe(applied.written);
        }
        let mut verdicts = applied.verdicts.into_iter();
        let mut pending = group.pending.borrow_mut();
        for (index, term, is_command) in places {
            let verdict = if is_command { verdicts.next() } else { None };
            let Some((wanted, waiter)) = pending.remove(&index) else {
                continue;
            };
            let told = match verdict {
                Some(verdict) if wanted == term => Ok(verdict),
                // Another leader's entry stands where it would have stood: it never happened.
                _ => Err(Answer::NotLeader(None)),
            };
            drop(waiter.send(told));
        }
        Ok(())
    }

    /// Applies entries to the store, and notifies a leader and its waiters.
    fn store_applied(&self, group: &Group, entries: Entries<'_>) -> Result<Applied, Stopped> {
        let mut state = group.state.borrow_mut();
        let applied = (self.store).apply(group.id, &group.meta.get(), &mut state, entries);
        if let Err(StoreError::NoSpace(_)) = &applied {
            *state = self.store.state(&group.meta.get())?;
        }
        let applied = applied?;
        drop(state);
        self.set_meta(group, applied.meta);
        match &mut *group.lead.borrow_mut() {
            Some((_, Lead::Keys(leader))) => leader.applied(entries.index),
            Some((_, Lead::Timestamps(oracle))) => oracle.extend(applied.meta.greatest),
            None => {}
        }
        group.moved.notify_waiters();
        Ok(applied)
    }

    /// What is known of a replica's store has changed.
    pub fn set_meta(&self, group: &Group, meta: Meta) {
        group.meta.set(meta);
        group.storage.set_applied(applied(&meta));
    }

    /// Lets those read whose round has ended.
    pub fn let_read(&self, group: &Group) {
        let applied = group.meta.get().applied;
        for waiter in group.reads.borrow_mut().take(applied) {
            drop(waiter.send(Ok(Verdict::Done)));
        }
    }
}

/// The reason why entries are not applied.
enum Stopped {
    /// The disk is full: they are applied later.
    NoSpace(String),
    /// The replica has failed.
    Failed(String),
}

impl From<StoreError> for Stopped {
    fn from(error: StoreError) -> Stopped {
        match error {
            StoreError::NoSpace(why) => Stopped::NoSpace(why),
            error => Stopped::Failed(error.to_string()),
        }
    }
}

impl From<String> for Stopped {
    fn from(why: String) -> Stopped {
        Stopped::Failed(why)
    }
}

/// A deliberate bug, for the simulation to find: the new voters vote alone at once.
fn skip_joint(
    changed: Option<Descriptor>,
    change: ConfChangeV2,
) -> (Option<Descriptor>, Vec<ConfChangeV2>) {
    let joint = changed.as_ref().filter(|changed| changed.is_joint());
    let Some(joint) = joint else {
        return (changed, vec![change]);
    };
    let config = joint.config;
    let leave = descriptor::Change::Leave;
    let left = joint.with(&descriptor::Entry {
        config,
        change: leave,
    });
    let single = |single: &ConfChangeSingle| ConfChangeV2 {
        changes: vec![single.clone()],
        ..ConfChangeV2::default()
    };
    (left, change.changes.iter().map(single).collect())
}

/// Whether two configurations are the same, in whatever order.
fn same_configuration(mut one: ConfState, mut other: ConfState) -> bool {
    for state in [&mut one, &mut other] {
        state.voters.sort_unstable();
        state.voters_outgoing.sort_unstable();
        state.learners.sort_unstable();
    }
    one == other
}

fn bytes_of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> usize {
    entries.into_iter().map(|entry| entry.data.len()).sum()
}

/// Whether an entry changes the replicas of its range.
fn is_change(entry: &Entry) -> bool {
    entry.get_entry_type() != EntryType::EntryNormal
}

/// What a `Ready` has for the log, if anything: then also what a majority has. That alone is worth a record only where it
/// has a change of the replicas: a replica that starts without it would wait for votes of replicas that have left.
fn record_of(group: &Group, ready: &mut Ready, committed: u64, has_change: bool) -> Option<Record> {
    let begin = if ready.snapshot().is_empty() {
        None
    } else {
        Some(Position {
            index: ready.snapshot().get_metadata().index,
            term: ready.snapshot().get_metadata().term,
        })
    };
    let vote = ready.hs().map(|hard_state| Vote {
        term: hard_state.term,
        vote: hard_state.vote,
    });
    let vote = vote.filter(|vote| *vote != group.storage.log().borrow().vote());
    let entries = ready.take_entries();
    let is_empty = begin.is_none() && vote.is_none() && entries.is_empty() && !has_change;
    (!is_empty).then_some(Record {
        group: group.id,
        begin,
        vote,
        commit: Some(committed),
        entries,
    })
}
