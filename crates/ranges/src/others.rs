//! The other replicas of a range, as one of them knows them: their addresses, and when they were heard last.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use dunlin_proto::ShardAddress;
use dunlin_raftlog::GroupStorage;
use raft::{ProgressState, RawNode};
use tokio::time::Instant;

use crate::descriptor::{Descriptor, Entry};
use crate::hold::{Copied, RANGE_BYTES, allowance, next_pause};
use crate::next_step::{Progress, Repair};
use crate::place::hears;

/// A replica that was not heard for so many ticks of 100 ms is not active.
const SILENCE_TICKS: u32 = 10;
/// More replicas that are newer than the configuration known here are not remembered.
const NEWER_MAX: usize = 8;

/// What a replica knows of the others.
#[derive(Default)]
pub(crate) struct Others {
    /// This replica's own number.
    pub own: u64,
    /// The descriptor that `raft` goes by; none before a replica that was prepared has its first snapshot.
    pub descriptor: RefCell<Option<Descriptor>>,
    /// The same of a snapshot that is in the store, and that `raft` has not heard of yet.
    pub installed: RefCell<Option<Descriptor>>,
    /// Where replicas are that are newer than the descriptor, with their directory numbers.
    newer: RefCell<BTreeMap<u64, (ShardAddress, u64)>>,
    /// For how many ticks a replica was not heard.
    silent_ticks: RefCell<BTreeMap<u64, u32>>,
    /// Copies that they fetch or fetched.
    pub copies: RefCell<BTreeMap<u64, Copied>>,
    /// Bytes of entries that may be added until the next tick, where entries are held for copies.
    pub allowance: Cell<Option<usize>>,
    /// Until when no copy begins, after one that clients' writes were too fast for, and the last such pause.
    pub pause: Cell<Option<(Instant, Duration)>>,
    /// A change that is to be proposed.
    pub change: RefCell<Option<Entry>>,
    /// The entry that changed the replicas last, as far as was seen since the start.
    pub changed_at: Cell<u64>,
    /// Whether entries are not proposed for the moment: another replica is to lead.
    pub is_held: Cell<bool>,
    /// At how many looks in a row, by its leader, all replicas were as they should be.
    pub calm: Cell<u32>,
    /// The last step that its leader took.
    pub step: RefCell<Option<Repair>>,
    /// Whether its leader is looking for the next step.
    pub is_conducted: Cell<bool>,
}

impl Others {
    /// Of a replica of this number.
    pub fn new(own: u64, descriptor: Option<Descriptor>) -> Others {
        Others {
            own,
            descriptor: RefCell::new(descriptor),
            ..Others::default()
        }
    }

    /// Where a replica is, and its directory number.
    pub fn find(&self, id: u64) -> Option<(ShardAddress, u64)> {
        let descriptor = self.descriptor.borrow();
        let member = descriptor.as_ref().and_then(|known| known.member(id));
        let known = member.map(|member| (member.at, member.directory));
        known.or_else(|| self.newer.borrow().get(&id).copied())
    }

    /// Whether a message of a replica is heard; then it is remembered where it is.
    pub fn hear(&self, id: u64, at: ShardAddress, directory: u64) -> bool {
        let descriptor = self.descriptor.borrow();
        if !hears(id, directory, descriptor.as_ref()) {
            return false;
        }
        let is_named = descriptor.as_ref().is_some_and(|d| d.member(id).is_some());
        if !is_named {
            let mut newer = self.newer.borrow_mut();
            newer.insert(id, (at, directory));
            if newer.len() > NEWER_MAX {
                newer.pop_first();
            }
        }
        self.silent_ticks.borrow_mut().insert(id, 0);
        true
    }

    /// Whether this is the only replica that votes.
    pub fn is_alone(&self) -> bool {
        let descriptor = self.descriptor.borrow();
        let Some(descriptor) = descriptor.as_ref().filter(|known| !known.is_joint()) else {
            return false;
        };
        let mut voters = descriptor.voters();
        voters.next().is_some_and(|only| only.id == self.own) && voters.next().is_none()
    }

    /// A tick has passed.
    pub fn tick(&self) {
        for ticks in self.silent_ticks.borrow_mut().values_mut() {
            *ticks = ticks.saturating_add(1);
        }
    }

    /// Sets the allowance for the next tick: entries are held behind an index, of so many bytes, of the most that may be.
    /// At the most copies end, and begin anew later.
    pub fn throttle(&self, held: Option<usize>, most: usize) {
        let Some(held) = held else {
            // All copies were taken, or given up.
            self.pause.set(None);
            self.allowance.set(None);
            return;
        };
        let next = allowance(held, most);
        self.allowance.set(next);
        if next.is_none() {
            let before = self.pause.get().map_or(Duration::ZERO, |(_, pause)| pause);
            let pause = next_pause(before);
            self.pause.set(Some((Instant::now() + pause, pause)));
            self.copies.borrow_mut().clear();
        }
    }

    /// Whether less may be proposed than clients want, for a copy.
    pub fn is_slowed(&self) -> bool {
        let allowance = self.allowance.get();
        allowance.is_some_and(|left| left <= RANGE_BYTES)
    }

    /// Whether copies are made as fast as they can be: writes are slowed for one, or the last was too slow.
    pub fn is_urgent(&self) -> bool {
        self.is_slowed() || self.pause.get().is_some()
    }

    /// Whether a copy may begin.
    pub fn may_copy(&self) -> bool {
        let pause = self.pause.get();
        pause.is_none_or(|(until, _)| Instant::now() >= until)
    }

    /// Whether a replica was heard a moment ago.
    pub fn is_active(&self, id: u64) -> bool {
        let silent = self.silent_ticks.borrow();
        id == self.own || silent.get(&id).is_some_and(|ticks| *ticks < SILENCE_TICKS)
    }

    /// The progress of a replica, as its leader knows it.
    pub fn progress(&self, node: &RawNode<GroupStorage>, id: u64) -> Progress {
        let raft = node.raft.prs().get(id);
        raft.map_or_else(Progress::default, |raft| Progress {
            matched: raft.matched,
            // One that has all there is goes on being probed until there is more.
            replicates: raft.state != ProgressState::Snapshot,
            is_active: self.is_active(id),
            is_lost: false,
            has_wrong_clock: false,
            knows: raft.committed_index >= self.changed_at.get(),
        })
    }

    /// Goes by another descriptor.
    pub fn set(&self, descriptor: Descriptor) {
        self.newer
            .borrow_mut()
            .retain(|id, _| *id >= descriptor.next);
        let mut silent = self.silent_ticks.borrow_mut();
        silent.retain(|id, _| *id >= descriptor.next || descriptor.member(*id).is_some());
        *self.descriptor.borrow_mut() = Some(descriptor);
    }
}
