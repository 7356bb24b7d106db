//! Who has which entries, as far as it was told: what followers that are no replicas are shown depends on it
//! (decision 46).

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use dunlin_entry::{Origin, Version};
use dunlin_proto::ShardAddress;
use tokio::sync::Notify;

use super::Shard;
use crate::follow::is_shown;
use crate::replication::address_of;
use crate::sabotage::Sabotage;

/// What a writer said last of one of its origins: up to where each has it.
type Told = (Origin, Vec<(ShardAddress, Version)>);

/// What is known of that.
#[derive(Default)]
pub(crate) struct Held {
    /// Up to where this shard has its own entries, applied.
    own: Cell<Version>,
    /// By writer; of its last start alone, for vectors tell of the earlier ones.
    told: RefCell<BTreeMap<ShardAddress, Told>>,
    /// How often any of it has changed, and vectors told by others.
    changes: Cell<u64>,
    /// How often that of who has this shard's own entries has. Apart: else the word of one would be the next one's news.
    own_changes: Cell<u64>,
    wake: Notify,
    /// How many wait for news.
    waiting: Cell<usize>,
    /// Who waits for it here.
    followers: Cell<usize>,
}

impl Held {
    /// This shard has its own entries up to `version`.
    pub fn has_own(&self, version: Version) {
        if version > self.own.get() {
            self.own.set(version);
            self.own_changed();
        }
    }

    /// A writer has said who has what it wrote.
    pub fn told(&self, origin: Origin, held: Vec<(ShardAddress, Version)>) {
        if held.is_empty() {
            return;
        }
        let mut told = self.told.borrow_mut();
        let last = told
            .entry(address_of(origin))
            .or_insert((origin, Vec::new()));
        if origin.incarnation() < last.0.incarnation() {
            return;
        }
        if last.1 == held && last.0 == origin {
            return;
        }
        *last = (origin, held);
        drop(told);
        self.changed();
    }

    /// Somebody has more of this shard's own entries than before.
    pub fn own_changed(&self) {
        self.own_changes.set(self.own_changes.get() + 1);
        self.changed();
    }

    /// Something is known that was not before.
    pub fn changed(&self) {
        self.changes.set(self.changes.get() + 1);
        // On the way of each acknowledgement, where mostly nobody does.
        if self.waiting.get() > 0 {
            self.wake.notify_waiters();
        }
    }

    /// Waits until there is such news.
    async fn news(&self, is_there: impl Fn() -> bool) {
        while !is_there() {
            let _waits = Waits::new(&self.waiting);
            self.wake.notified().await;
        }
    }

    /// How often that was so.
    pub fn changes(&self) -> u64 {
        self.changes.get()
    }

    /// Waits until something has changed since there were so many changes.
    pub async fn changed_since(&self, changes: u64) {
        self.news(|| self.changes.get() != changes).await;
    }

    /// How often that of the own entries was.
    pub fn own_changes(&self) -> u64 {
        self.own_changes.get()
    }

    /// Waits until that of the own entries has changed since there were so many changes.
    pub async fn own_changed_since(&self, changes: u64) {
        self.news(|| self.own_changes.get() != changes).await;
    }

    /// Whether anybody here waits for it.
    pub fn is_wanted(&self) -> bool {
        self.followers.get() > 0
    }

    /// One more waits for it, or one less.
    pub fn count(&self, comes: bool) {
        let count = self.followers.get();
        self.followers.set(if comes {
            count + 1
        } else {
            count.saturating_sub(1)
        });
    }
}

/// One that waits, also when it is given up.
struct Waits<'a>(&'a Cell<usize>);

impl<'a> Waits<'a> {
    fn new(waiting: &'a Cell<usize>) -> Waits<'a> {
        waiting.set(waiting.get() + 1);
        Waits(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

impl Shard {
    /// Up to where this shard's own entries are held, by it and by all it supplies.
    pub(crate) fn held_of_own(&self) -> Vec<(ShardAddress, Version)> {
        let peers = self.peers.borrow();
        let sharing = peers.values().filter(|peer| peer.shares.get());
        let held = sharing.map(|peer| (peer.address, peer.held.get()));
        std::iter::once((self.address, self.held.own.get()))
            .chain(held)
            .collect()
    }

    /// Whether `replica` is known to have all it is to have of `origin` up to `version`. This shard has what it
    /// speaks of.
    fn holds(&self, replica: ShardAddress, origin: Origin, version: Version) -> bool {
        if replica == self.address {
            return true;
        }
        if let Some(peer) = self.peers.borrow().get(&replica)
            && (origin == self.origin && peer.held.get() >= version || peer.has(origin, version))
        {
            return true;
        }
        let told = self.held.told.borrow();
        told.get(&address_of(origin)).is_some_and(|(of, held)| {
            let mut held = held.iter();
            *of == origin && held.any(|(shard, to)| *shard == replica && *to >= version)
        })
    }

    /// Whether an entry that is on disk here may be shown to who is no replica: a majority of its replicas has
    /// it.
    pub(crate) fn is_held_by_enough(
        &self,
        keyspace: u32,
        partition: u16,
        from: u8,
        (origin, version): (Origin, Version),
    ) -> bool {
        if self.env.sabotage == Sabotage::ShowEarly {
            return true;
        }
        let placement = self.placement.borrow();
        placement.keyspace(keyspace).is_some_and(|placed| {
            let width = placed.width(from);
            is_shown(
                placed.replicas(partition, width),
                placed.also(partition, width),
                |replica| self.holds(replica, origin, version),
            )
        })
    }
}

#[cfg(test)]
#[path = "held_tests.rs"]
mod tests;
