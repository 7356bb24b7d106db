//! A shard and what it is used by: each capability with its own state, on the same event loop.

use std::rc::Rc;

use dunlin_proto::Introduction;
use dunlin_proto::api::FeedStatus;
use dunlin_rpc::Stream;

use crate::expiry::Expiry;
use crate::follow::Followers;
use crate::moves::{MoveState, Moves};
use crate::plug::Plugged;
use crate::quorum::Coordinator;
use crate::replication::Replication;
use crate::serve::ShardService;
use crate::shard::Shard;

/// A shard with its capabilities.
pub struct Services {
    pub(crate) shard: Rc<Shard>,
    /// How entries get to other replicas, and from them.
    pub(crate) replication: Rc<Replication>,
    /// Requests of clients.
    pub(crate) coordinator: Rc<Coordinator>,
    /// Its part in changes of the members.
    pub(crate) moves: Rc<Moves>,
    /// Those who follow its log and are no replicas.
    followers: Rc<Followers>,
    /// The end of values whose time is over.
    expiry: Rc<Expiry>,
    /// Capabilities that are crates of their own.
    pub(crate) plugged: Vec<Rc<dyn Plugged>>,
}

impl Services {
    /// Those of a shard that was just opened and does not run yet.
    pub fn new(shard: Rc<Shard>) -> Rc<Services> {
        let replication = Replication::new(shard.clone());
        let coordinator = Coordinator::new(shard.clone());
        let moves = Moves::new(shard.clone());
        let followers = Followers::new(shard.clone(), coordinator.clone());
        let expiry = Expiry::new(shard.clone());
        let plugs = shard.config().plugs.iter();
        let plugged = plugs.map(|plug| plug.attach()).collect();
        Rc::new(Services {
            plugged,
            shard,
            replication,
            coordinator,
            moves,
            followers,
            expiry,
        })
    }

    /// Starts all their duties on this thread's `LocalSet`.
    pub fn run(self: &Rc<Self>) {
        self.shard.run();
        self.replication.run();
        self.coordinator.run();
        self.moves.run();
        self.expiry.run();
        self.plugged.iter().for_each(|plug| plug.run(self));
        for plug in &self.plugged {
            if let Some(ranges) = plug.transactional(self) {
                self.coordinator.set_ranges(ranges);
            }
        }
        if let Some(ranges) = self.coordinator.ranges().cloned() {
            self.shard.set_ranges(ranges);
        }
        let services = Rc::downgrade(self);
        self.shard.set_feeds(Box::new(move || {
            let services = services.upgrade();
            let of = |services: Rc<Services>| {
                let plugged = || services.plugged.iter();
                FeedStatus {
                    streams: plugged().flat_map(|plug| plug.streams(&services)).collect(),
                    views: plugged().flat_map(|plug| plug.views(&services)).collect(),
                    figures: plugged().flat_map(|plug| plug.figures(&services)).collect(),
                }
            };
            services.map_or_else(FeedStatus::default, of)
        }));
    }

    /// The shard.
    pub fn shard(&self) -> &Rc<Shard> {
        &self.shard
    }

    /// Where requests of clients are carried out.
    pub fn coordinator(&self) -> &Rc<Coordinator> {
        &self.coordinator
    }

    /// Those who follow its log and are no replicas.
    pub fn followers(&self) -> &Rc<Followers> {
        &self.followers
    }

    /// How far the shard is with a change of the members.
    pub fn move_state(&self) -> MoveState {
        self.moves.state()
    }

    /// Hands over what others can do as well, and tells them that the shard ends.
    pub async fn leave(self: &Rc<Self>) {
        for plug in &self.plugged {
            plug.leave(self).await;
        }
        self.shard.leave().await;
    }

    /// Serves a connection that another node has opened, to its end.
    pub async fn serve_peer(self: Rc<Self>, stream: Box<dyn Stream>, said: Introduction) {
        let service = ShardService::new(self.clone(), Some(said.asker));
        let shard = self.shard.clone();
        shard.serve_peer(stream, said, Rc::new(service)).await;
    }
}
