//! Following the cluster's topology: placement and peers.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;

use dunlin_metadata::{NodeRecord, Topology};
use dunlin_proto::{Request, Response, ShardAddress};
use dunlin_rpc::{Caller, ConnectOptions};

use super::aside::Aside;
use super::past::Doubt;
use super::{Peer, Shard};
use crate::follow::Gauge;
use crate::limits::QUEUE_BYTES;
use crate::placement::Placement;

/// Who hears of what changes around a shard, as it changes.
pub(crate) trait Observer {
    /// The shard goes by the placement `now` from here on; its peers are still those of before.
    fn has_placement(&self, _before: &Rc<Placement>, _now: &Placement) {}

    /// There is another shard in the cluster.
    fn has_peer(self: Rc<Self>, _peer: &Rc<Peer>) {}

    /// The shard shares partitions with a peer from now on. What is begun for it ends with the peer's
    /// `stream`.
    fn shares_with(self: Rc<Self>, _peer: &Rc<Peer>) {}

    /// Pieces that it has yet to copy.
    fn parts_left(&self) -> u64 {
        0
    }
}

impl Shard {
    /// Keeps up with the metadata store for as long as the shard runs.
    pub(super) async fn topology_loop(self: Rc<Self>) {
        let mut topology = self.metadata.topology();
        loop {
            let now = topology.borrow_and_update().clone();
            self.adopt(&now);
            if topology.changed().await.is_err() {
                return;
            }
        }
    }

    /// Tells `observer` of what changes from now on, for as long as there is one.
    pub(crate) fn heed(&self, observer: &Rc<dyn Observer>) {
        self.observers.borrow_mut().push(Rc::downgrade(observer));
    }

    /// Pieces that are still to be copied by whoever follows the shard.
    pub(super) fn parts_left(&self) -> u64 {
        let observers = self.observers();
        observers.iter().map(|observer| observer.parts_left()).sum()
    }

    fn observers(&self) -> Vec<Rc<dyn Observer>> {
        let observers = self.observers.borrow();
        observers.iter().filter_map(Weak::upgrade).collect()
    }

    /// Takes over a topology: computes the placement, connects to new peers, lets go of old ones.
    pub(super) fn adopt(self: &Rc<Self>, topology: &Arc<Topology>) {
        self.front.guard.follow(topology);
        let placement = Rc::new(Placement::compute(topology));
        let before = self.placement.replace(placement.clone());
        let keyspaces = placement.keyspaces().map(|k| &k.keyspace);
        let keyspaces = keyspaces.chain(placement.transactional().values().map(|k| &**k));
        self.front
            .requests
            .follow(keyspaces.map(|keyspace| (keyspace.id, keyspace.name.as_str())));
        self.judge_drops();
        for observer in self.observers() {
            observer.has_placement(&before, &placement);
        }
        for node in placement.nodes.values() {
            self.learn(node.id, node.incarnation);
        }
        self.grace.update(&placement);
        self.purge.adopted(&before, &placement, self.env.sabotage);
        let mut purged = before.purged().iter();
        if purged.any(|id| placement.keyspace(*id).is_some()) {
            // By an old copy of the metadata store: the others kept what went here.
            self.doubt_past(Doubt::Restored);
        }
        self.peers.borrow_mut().retain(|address, peer| {
            let stays = placement.nodes.get(&address.node).is_some_and(|node| {
                node.listen == peer.listen
                    && address.shard < node.shards
                    && !placement.is_dead(address.node)
            });
            if !stays {
                peer.shares.set(false);
                peer.end_stream();
            }
            stays
        });
        let missing: Vec<ShardAddress> = placement
            .shards()
            .filter(|a| *a != self.address && !placement.is_dead(a.node))
            .filter(|a| self.peer(*a).is_none())
            .collect();
        for address in missing {
            self.add_peer(address, &placement);
        }
        let peers: Vec<Rc<Peer>> = self.peers.borrow().values().cloned().collect();
        for peer in peers {
            self.share_with(&peer, placement.share(self.address, peer.address));
        }
        self.end_refill_if_whole();
    }

    /// Begins to keep a peer supplied, or ends it.
    fn share_with(self: &Rc<Self>, peer: &Rc<Peer>, shares: bool) {
        if peer.shares.replace(shares) == shares {
            return;
        }
        peer.end_stream();
        if shares {
            for observer in self.observers() {
                observer.shares_with(peer);
            }
        }
    }

    fn add_peer(self: &Rc<Self>, address: ShardAddress, placement: &Placement) {
        let Some(node) = placement.nodes.get(&address.node) else {
            return;
        };
        let Some(slot) = self.slot_of(address) else {
            tracing::error!(
                node = node.name,
                "more shards than this version keeps books on; not replicating to it"
            );
            return;
        };
        let queue = self.directory.queue_to(&node.name, address.shard);
        let is_near = queue.is_some();
        let (caller, aside) = match queue {
            Some(queue) => (queue.caller(), Aside::new(None)),
            None => {
                let (shard, node) = (Rc::downgrade(self), node.clone());
                let caller = self.connect_to(address, &node, None);
                let dial = move |answered: &Rc<Cell<Option<u32>>>| {
                    let shard = shard.upgrade()?;
                    Some(shard.connect_to(address, &node, Some(answered.clone())))
                };
                (caller, Aside::new(Some(Box::new(dial))))
            }
        };
        let peer = Rc::new(Peer {
            address,
            label: format!("{}/{}", node.name, address.shard),
            listen: node.listen.clone(),
            slot,
            shares: Cell::new(false),
            caller,
            aside,
            vector: RefCell::default(),
            heard: Cell::new(false),
            pulled: RefCell::default(),
            copied: RefCell::default(),
            held: Cell::default(),
            wants_held: Cell::default(),
            gauge: Gauge::default(),
            lag: RefCell::default(),
            stream: RefCell::default(),
            backfill: RefCell::default(),
            is_failing: Cell::new(false),
            behind_ms: Cell::new(0),
            // Within the process nobody introduces itself.
            answered: Cell::new(is_near.then_some(node.incarnation)),
            is_leaving: Cell::new(false),
        });
        self.peers.borrow_mut().insert(address, peer.clone());
        for observer in self.observers() {
            observer.has_peer(&peer);
        }
    }

    /// A connection to a shard of another process: the first one, or one `aside`.
    fn connect_to(
        self: &Rc<Self>,
        address: ShardAddress,
        node: &NodeRecord,
        aside: Option<Rc<Cell<Option<u32>>>>,
    ) -> Caller<Request, Response> {
        let which = u64::from(aside.is_some());
        let seed = u64::from(address.node) << 16 ^ u64::from(address.shard) ^ which << 48;
        dunlin_rpc::connect(
            self.env.transport.clone(),
            node.listen.clone(),
            self.dialing(address, &node.name, aside),
            ConnectOptions {
                queue_bytes: QUEUE_BYTES,
                guard: self.config.guard.clone(),
                seed: self.env.seed ^ seed,
                ..ConnectOptions::default()
            },
        )
    }
}
