//! Following the cluster's topology: placement, peers, keyspaces that are gone.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use dunlin_metadata::Topology;
use dunlin_rpc::ConnectOptions;

use super::{Peer, Shard};
use crate::limits::QUEUE_BYTES;
use crate::placement::{Placement, ShardAddress};
use crate::process::hello;
use crate::replication::link::Link;

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

    /// Takes over a topology: computes the placement, connects to new peers, lets go of old ones.
    pub(super) fn adopt(self: &Rc<Self>, topology: &Arc<Topology>) {
        let placement = Rc::new(Placement::compute(topology));
        let before = self.placement.replace(placement.clone());
        self.grace.update(&placement);
        for keyspace in before.keyspaces() {
            let id = keyspace.keyspace.id;
            if placement.keyspace(id).is_none()
                && let Err(error) = self.store.drop_keyspace(id)
            {
                tracing::error!(%error, keyspace = keyspace.keyspace.name, "dropping its data failed; a restart tries again");
            }
        }
        self.peers
            .borrow_mut()
            .retain(|address, peer| match placement.nodes.get(&address.node) {
                Some(node) => {
                    node.listen == peer.listen
                        && address.shard < node.shards
                        && peer.shares == placement.share(self.address, *address)
                }
                None => false,
            });
        let missing: Vec<ShardAddress> = placement
            .shards()
            .filter(|a| *a != self.address && self.peer(*a).is_none())
            .collect();
        for address in missing {
            self.add_peer(address, &placement);
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
        let caller = match self.directory.queue_to(&node.name, address.shard) {
            Some(queue) => queue.caller(),
            None => dunlin_rpc::connect(
                self.env.transport.clone(),
                node.listen.clone(),
                hello(&node.name, address.shard),
                ConnectOptions {
                    queue_bytes: QUEUE_BYTES,
                    seed: self.env.seed ^ u64::from(address.node) << 16 ^ u64::from(address.shard),
                    ..ConnectOptions::default()
                },
            ),
        };
        let shares = placement.share(self.address, address);
        let peer = Rc::new(Peer {
            address,
            label: format!("{}/{}", node.name, address.shard),
            listen: node.listen.clone(),
            slot,
            shares,
            caller,
            vector: RefCell::default(),
            heard: Cell::new(false),
            pulled: RefCell::default(),
            link: Link::default(),
            tasks: RefCell::default(),
            backfilling: Cell::new(false),
        });
        if shares {
            let weak = Rc::downgrade(&peer);
            let mut tasks = peer.tasks.borrow_mut();
            tasks.push(
                tokio::task::spawn_local(self.clone().send_loop(weak.clone())).abort_handle(),
            );
            tasks.push(tokio::task::spawn_local(self.clone().catch_up_loop(weak)).abort_handle());
        }
        self.peers.borrow_mut().insert(address, peer);
    }
}
