//! What a shard knows of another.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use dunlin_entry::{Origin, Vector, Version};
use dunlin_proto::{Request, Response, ShardAddress};
use dunlin_rpc::Caller;
use tokio::task::AbortHandle;

use super::Shard;
use super::aside::Aside;
use crate::follow::{Gauge, Lag, Progress};
use crate::replication::acks::Slot;

/// Another shard of the cluster.
pub(crate) struct Peer {
    pub address: ShardAddress,
    /// `NODE/SHARD`, for people.
    pub label: String,
    /// Where it listens; a change means a new connection.
    pub listen: String,
    /// Its bit in the books of acknowledgements.
    pub slot: Slot,
    /// Whether it is sent copies of entries held here.
    pub shares: Cell<bool>,
    pub caller: Caller<Request, Response>,
    /// Another connection to it, for pages.
    pub aside: Aside,
    /// Its vector, as last heard; empty before.
    pub vector: RefCell<Vector>,
    /// Whether it has told its vector since this shard started.
    pub heard: Cell<bool>,
    /// Entries it has had from others than their origins, which its vector does not show here.
    pub pulled: RefCell<Vector>,
    /// All that it held, the past of this shard included, was copied: by which revision of the placement,
    /// and what its vector named then.
    pub copied: RefCell<Option<(u64, Vector)>>,
    /// Up to where it has acknowledged the entries of this shard's present origin.
    pub held: Cell<Version>,
    /// Whether it asks to be told with each batch who else has it.
    pub wants_held: Cell<bool>,
    /// How far it is with the entries of this shard.
    pub gauge: Gauge,
    /// What is done for it when it falls behind; none while it does not follow.
    pub lag: RefCell<Option<Lag>>,
    /// The task that sends it entries.
    pub stream: RefCell<Option<AbortHandle>>,
    /// The backfill from it that is under way.
    pub backfill: RefCell<Option<Rc<Progress>>>,
    /// What was asked of it to catch up failed lately: what others wrote, and it should have, is asked of them.
    pub is_failing: Cell<bool>,
    /// How far this shard was behind it when it was heard last, in milliseconds of its clock.
    pub behind_ms: Cell<u64>,
    /// The incarnation that has answered the connection there is, or the last one there was.
    pub answered: Cell<Option<u32>>,
    /// Whether it has said that it is about to stop.
    pub is_leaving: Cell<bool>,
}

impl Peer {
    /// Whether the peer is known to have everything of `origin` up to `version`.
    pub fn has(&self, origin: Origin, version: Version) -> bool {
        self.vector.borrow().get(origin) >= version
    }

    /// Whether what it holds of `origin` was copied when its vector named as much of that as it does now, and
    /// both held the same partitions. An entry that came to it later came from one who is asked as well.
    pub fn was_copied(&self, origin: Origin, revision: u64) -> bool {
        let copied = self.copied.borrow();
        copied.as_ref().is_some_and(|(when, named)| {
            *when == revision && named.get(origin) >= self.vector.borrow().get(origin)
        })
    }

    /// Sends the peer nothing more.
    pub fn end_stream(&self) {
        if let Some(task) = self.stream.take() {
            task.abort();
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.end_stream();
    }
}

impl Shard {
    /// What another shard is called, for people.
    pub(crate) fn label_of(&self, address: ShardAddress) -> String {
        match self.peer(address) {
            Some(peer) => peer.label.clone(),
            None => address.to_string(),
        }
    }

    /// How far this shard is behind the writer of which it lacks most, in milliseconds of their clocks.
    pub(super) fn behind_ms(&self) -> u64 {
        let peers = self.peers.borrow();
        let sharing = peers.values().filter(|peer| peer.shares.get());
        sharing.map(|peer| peer.behind_ms.get()).max().unwrap_or(0)
    }

    /// Where a replica stands in the books; this shard is slot 0.
    pub(super) fn slot_in(
        &self,
        peers: &BTreeMap<ShardAddress, Rc<Peer>>,
        replica: &ShardAddress,
    ) -> Option<Slot> {
        if *replica == self.address {
            Some(0)
        } else {
            peers.get(replica).map(|peer| peer.slot)
        }
    }

    /// A replica's slot, the same for as long as this shard runs: acknowledgements
    /// of writes under way must not be counted for another. `None` when the books are full.
    pub(super) fn slot_of(&self, address: ShardAddress) -> Option<Slot> {
        let mut slots = self.slots.borrow_mut();
        if let Some(slot) = slots.get(&address) {
            return Some(*slot);
        }
        let next = Slot::try_from(slots.len() + 1).ok()?;
        slots.insert(address, next);
        Some(next)
    }
}
