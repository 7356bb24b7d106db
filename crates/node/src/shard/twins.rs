//! Meeting other nodes: which of them are served, and who this one is to them.
//!
//! Each shard keeps the latest incarnation of every node, from the topology, from hellos and from
//! the answers to its own. Who is of an earlier one is refused, and connections that are older than
//! the news are closed. Where the news is of this very node, it ends: nothing is acknowledged any
//! more, and its process is told.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use bytes::Bytes;
use dunlin_proto::{Introduction, Request, Response, ShardAddress, WriteAnswer};
use dunlin_rpc::{Limits, Opening, Service, Status, Stream, accept, serve_accepted};
use tokio::sync::Notify;

use super::Shard;
use super::past::Doubt;
use crate::incarnation::{Latest, Verdict, judge};
use crate::process::Superseded;
use crate::sabotage::Sabotage;

/// What a shard knows of who is who.
#[derive(Default)]
pub(super) struct Twins {
    latest: RefCell<Latest>,
    /// Connections that other nodes opened, in the order in which they came.
    inbound: RefCell<BTreeMap<u64, Inbound>>,
    opened: Cell<u64>,
    is_superseded: Cell<bool>,
}

struct Inbound {
    asker: u16,
    incarnation: u32,
    close: Rc<Notify>,
}

impl Inbound {
    fn is_before(&self, asker: u16, incarnation: u32) -> bool {
        self.asker == asker && self.incarnation < incarnation
    }
}

impl Shard {
    /// Has `service` serve a connection that another node has opened, to its end.
    pub(crate) async fn serve_peer(
        self: Rc<Self>,
        stream: Box<dyn Stream>,
        said: Introduction,
        service: Rc<impl Service<Request, Response> + 'static>,
    ) {
        let cluster = self.cluster();
        let is_foreign = !said.cluster.is_empty() && !cluster.is_empty() && said.cluster != cluster;
        if is_foreign {
            tracing::warn!(
                theirs = said.cluster,
                ours = cluster,
                "a node of another cluster asks here; an address is registered in both"
            );
        }
        // A stranger may be wrong about who is who here.
        let is_known = said.cluster == cluster;
        let verdict = match self.judge(said.asker, said.incarnation, said.wanted) {
            _ if is_foreign => Verdict::Refuse,
            Verdict::Serve if self.is_leaving() || self.is_superseded() => Verdict::Refuse,
            verdict => verdict,
        };
        if verdict == Verdict::Stop && is_known {
            self.supersede(said.wanted);
        }
        if verdict != Verdict::Serve {
            let latest = self.twins.latest.borrow().of(said.asker);
            let is_earlier = said.incarnation < latest;
            let why = match verdict {
                Verdict::Refuse if is_known && is_earlier => Status::Superseded,
                _ => Status::NotServed,
            };
            drop(accept::refuse(stream, why, &Introduction::encode_answer(latest)).await);
            return;
        }
        if is_known {
            self.learn(said.asker, said.incarnation);
            self.hear_of_own_starts(said.wanted);
        }
        // Whoever asks also answers: no need to wait for the next attempt.
        for peer in self.peers_of(said.asker) {
            peer.caller.retry_now();
        }
        let close = Rc::new(Notify::new());
        let number = self.twins.opened.get();
        self.twins.opened.set(number + 1);
        let inbound = Inbound {
            asker: said.asker,
            incarnation: said.incarnation,
            close: close.clone(),
        };
        self.twins.inbound.borrow_mut().insert(number, inbound);
        let answer = Introduction::encode_answer(self.origin.incarnation());
        let limits = Limits::default();
        tokio::select! {
            biased;
            () = close.notified() => tracing::info!(
                node = said.asker,
                "a connection of an earlier start is closed: the node has started again"
            ),
            _ = serve_accepted(stream, &answer, service, limits) => {}
        }
        self.twins.inbound.borrow_mut().remove(&number);
    }

    /// What opens connections to the shard `address` of the node of the name `node`: the first one, or the
    /// one `aside`, for which it is noted there who answered.
    pub(super) fn dialing(
        self: &Rc<Self>,
        address: ShardAddress,
        node: &str,
        aside: Option<Rc<Cell<Option<u32>>>>,
    ) -> impl Opening + use<> {
        Dialing {
            shard: Rc::downgrade(self),
            address,
            node: node.to_owned(),
            aside,
        }
    }

    /// Another node knows of a start of this one that is not in the directory: it was put back from
    /// before that start.
    fn hear_of_own_starts(&self, known: u32) {
        let remembered = self.remembered_incarnation;
        if remembered > 0 && known > remembered && known < self.origin.incarnation() {
            self.doubt_past(Doubt::Restored);
        }
    }

    fn judge(&self, node: u16, said: u32, wanted: u32) -> Verdict {
        if self.env.sabotage == Sabotage::AcceptTwins {
            return Verdict::Serve;
        }
        let known = self.twins.latest.borrow().of(node);
        judge(known, said, self.origin.incarnation(), wanted)
    }

    /// Takes note of a start of a node, this one included.
    pub(super) fn learn(&self, node: u16, incarnation: u32) {
        if node == self.address.node {
            if incarnation > self.origin.incarnation() {
                self.supersede(incarnation);
            }
            return;
        }
        let is_news = self.twins.latest.borrow_mut().learn(node, incarnation);
        if !is_news || self.env.sabotage == Sabotage::AcceptTwins {
            return;
        }
        for inbound in self.twins.inbound.borrow().values() {
            if inbound.is_before(node, incarnation) {
                inbound.close.notify_one();
            }
        }
        for peer in self.peers_of(node) {
            if peer.caller.is_connected() && peer.answered.get().is_none_or(|of| of < incarnation) {
                peer.caller.redial();
            }
            peer.aside.learned(incarnation);
        }
    }

    /// Another process runs as this node: acknowledges nothing more, and has this one end.
    fn supersede(&self, newer: u32) {
        if self.twins.is_superseded.replace(true) {
            return;
        }
        let waiting = self.acks.borrow_mut().take_all();
        for (got, write) in waiting {
            // Not refused: others may have it already.
            (write.done)(WriteAnswer::NotEnough { got });
        }
        for inbound in self.twins.inbound.borrow().values() {
            inbound.close.notify_one();
        }
        let record = self.placement().nodes.get(&self.address.node).cloned();
        let is_newer = |record: &dunlin_metadata::NodeRecord| record.incarnation >= newer;
        self.superseded.send(Some(Superseded {
            node: self.config.name.clone(),
            incarnation: self.origin.incarnation(),
            newer,
            listen: record.filter(is_newer).map(|record| record.listen),
        }));
    }

    /// The cluster's id; empty while it has none.
    fn cluster(&self) -> String {
        let topology = self.metadata.topology();
        let cluster = topology.borrow().cluster.as_ref().map(|c| c.id.clone());
        cluster.unwrap_or_default()
    }

    /// Whether another process runs as this node: then this one says nothing that counts.
    pub fn is_superseded(&self) -> bool {
        self.twins.is_superseded.get()
    }

    /// Hears what other shards of this node learn.
    pub(super) async fn superseded_loop(self: Rc<Self>) {
        let mut superseded = self.superseded.watch();
        let name = self.config.name.clone();
        let newer = superseded
            .wait_for(|by| by.as_ref().is_some_and(|by| by.node == name))
            .await
            .map(|by| by.map_or(0, |by| by.newer));
        if let Ok(newer) = newer {
            self.supersede(newer);
        }
    }
}

/// Introduces this shard to another and hears the answer.
struct Dialing {
    shard: Weak<Shard>,
    address: ShardAddress,
    node: String,
    /// Of the second connection: the incarnation that has answered it.
    aside: Option<Rc<Cell<Option<u32>>>>,
}

impl Opening for Dialing {
    fn hello(&self) -> Bytes {
        // Without a shard nobody waits for the answer.
        let Some(shard) = self.shard.upgrade() else {
            return Bytes::new();
        };
        let said = Introduction {
            shard: self.address.shard,
            asker: shard.address.node,
            incarnation: shard.origin.incarnation(),
            wanted: shard.twins.latest.borrow().of(self.address.node),
            cluster: shard.cluster(),
        };
        said.encode(&self.node)
    }

    fn is_welcome(&self, body: &[u8]) -> bool {
        let answered = Introduction::decode_answer(body);
        let (Some(shard), Some(answered)) = (self.shard.upgrade(), answered) else {
            return false;
        };
        if shard.judge(self.address.node, answered, 0) != Verdict::Serve {
            return false;
        }
        // Each connection tells of its own answerer: who is met over one is fenced on the other.
        match (&self.aside, shard.peer(self.address)) {
            (Some(aside), _) => aside.set(Some(answered)),
            (None, Some(peer)) => {
                peer.answered.set(Some(answered));
                peer.is_leaving.set(false);
            }
            (None, None) => {}
        }
        shard.learn(self.address.node, answered);
        true
    }

    fn superseded(&self, body: &[u8]) {
        if let (Some(shard), Some(newer)) =
            (self.shard.upgrade(), Introduction::decode_answer(body))
            && newer > shard.origin.incarnation()
        {
            shard.supersede(newer);
        }
    }
}
