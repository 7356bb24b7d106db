//! One log, many cursors: how entries reach the other replicas, and how a
//! replica that was away gets what it missed.

pub(crate) mod acks;
mod backfill;
mod catch_up;
mod delta;
mod find;
mod orphans;
mod pull;
mod reclaim;
mod reconcile;
mod send;

#[cfg(test)]
pub(crate) use reclaim::tests as testing;

pub(crate) use backfill::copy_of;
pub(crate) use catch_up::address_of;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use backfill::Left;
use dunlin_proto::ShardAddress;

use crate::shard::{Observer, Peer, Shard};

/// How entries get to the other replicas of a shard's partitions, and from them.
pub(crate) struct Replication {
    shard: Rc<Shard>,
    /// Entries of an earlier incarnation are being gathered from the peers.
    reclaiming: Cell<bool>,
    /// Backfills that were interrupted.
    backfills: RefCell<BTreeMap<ShardAddress, Left>>,
}

impl Replication {
    /// Of a shard that does not run yet.
    pub fn new(shard: Rc<Shard>) -> Rc<Replication> {
        let replication = Rc::new(Replication {
            shard,
            reclaiming: Cell::new(false),
            backfills: RefCell::default(),
        });
        let observer: Rc<dyn Observer> = replication.clone();
        replication.shard.heed(&observer);
        replication
    }

    /// Begins its duties.
    pub fn run(self: &Rc<Self>) {
        tokio::task::spawn_local(self.clone().orphan_loop());
    }
}

impl Observer for Replication {
    fn has_peer(self: Rc<Self>, peer: &Rc<Peer>) {
        // Never aborted: what it is about may be for all peers, or hold the store up meanwhile.
        tokio::task::spawn_local(self.catch_up_loop(Rc::downgrade(peer)));
    }

    fn shares_with(self: Rc<Self>, peer: &Rc<Peer>) {
        let sending = self.send_loop(Rc::downgrade(peer));
        let task = tokio::task::spawn_local(sending).abort_handle();
        peer.stream.replace(Some(task));
    }
}
