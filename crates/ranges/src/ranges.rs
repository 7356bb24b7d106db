//! The replicas of ranges at a shard, with the log and the store that they share.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::{Rc, Weak};

use dunlin_log::Runner;
use dunlin_node::{Sabotage, Services};
use dunlin_raftlog::RaftLog;
use dunlin_versions::{Store, StoreError};
use tokio::sync::{Notify, Semaphore};

use crate::group::{Group, Inbound, Lead};
use crate::health::Health;
use crate::outgoing::Outgoing;

/// Copies that a shard fetches at a time, and that it sends.
pub(crate) const COPIES_MAX: usize = 2;

/// What keeps a replica from speaking, by its keyspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Silent {
    /// Others are not made yet.
    Preparing,
    /// It must not; why.
    Mute(&'static str),
}

/// Log, store and replicas of a shard.
pub(crate) struct AtShard {
    pub services: Weak<Services>,
    pub log: RaftLog,
    pub store: Store,
    pub runner: Runner,
    pub sabotage: Sabotage,
    pub groups: RefCell<BTreeMap<u64, Rc<Group>>>,
    pub silent: RefCell<BTreeMap<u64, Silent>>,
    /// Ranges of which a replica is being made, begins to speak, or goes.
    pub busy: RefCell<BTreeSet<u64>>,
    pub outgoing: RefCell<Outgoing>,
    /// Replicas that have something to do.
    pub dirty: RefCell<Vec<u64>>,
    pub wake: Notify,
    /// The next place in the store that nobody has.
    pub next_place: Cell<u32>,
    /// A permit for each copy of a range that is fetched here at a time.
    pub copies: Semaphore,
    /// Scans that leaders of this shard have started.
    pub scans: Cell<u64>,
    /// The state of its disk and its clock.
    pub health: Health,
    /// Whether noted runs of deletes are being removed.
    pub is_clearing: Cell<bool>,
    /// Bytes of committed entries that wait until the store takes writes.
    pub unapplied_bytes: Cell<usize>,
}

impl AtShard {
    /// A replica that speaks.
    pub fn group(&self, id: u64) -> Option<Rc<Group>> {
        self.groups.borrow().get(&id).cloned()
    }

    /// How many wait for locks of keys that are led from here.
    pub fn waiting(&self) -> usize {
        let groups = self.groups.borrow();
        let waiting = groups.values().map(|group| match &*group.lead.borrow() {
            Some((_, Lead::Keys(leader))) => leader.locks.waiting(),
            _ => 0,
        });
        waiting.sum()
    }

    /// Has the store do what may wait for the disk, behind all else.
    pub async fn behind<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, String> {
        let store = self.store.clone();
        let done = self.runner.run_behind(move || job(&store)).await;
        done.map_err(|gone| gone.to_string())?
            .map_err(|error| error.to_string())
    }

    /// The same on a thread of its own, for what takes longer than others may wait.
    pub async fn apart<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, String> {
        let store = self.store.clone();
        let done = self.runner.run_apart(move || job(&store)).await;
        done.map_err(|gone| gone.to_string())?
            .map_err(|error| error.to_string())
    }

    /// Removes all rows of a place that no replica has any more, and gives its room back; nothing is waited for.
    pub fn clear_behind(self: &Rc<Self>, place: u32) {
        let own = self.clone();
        tokio::task::spawn_local(async move {
            if let Err(why) = own.apart(move |store| store.clear(place)).await {
                tracing::warn!(why, "rows of a range that is gone are not removed");
            }
        });
    }

    /// A place in the store that nobody has, nor will have.
    pub fn take_place(&self) -> u32 {
        let place = self.next_place.get();
        self.next_place.set(place + 1);
        place
    }

    /// There is something to do for a replica.
    pub fn touch(&self, group: &Group) {
        if !group.is_dirty.replace(true) {
            self.dirty.borrow_mut().push(group.id);
            self.wake.notify_one();
        }
    }

    /// Something has come in for a replica.
    pub fn receive(&self, group: &Group, inbound: Inbound) {
        group.inbox.borrow_mut().push_back(inbound);
        self.touch(group);
    }
}
