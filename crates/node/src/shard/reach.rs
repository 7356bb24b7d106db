//! Who can be asked: waiting a moment for one that is coming, readiness, and taking leave.

use std::rc::Rc;
use std::time::Duration;

use dunlin_proto::{Reached, Request, Response, ShardAddress};
use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::{Peer, Shard};
use crate::fence::Trust;
use crate::limits::{
    LEAVE_GRACE, LEAVE_TIMEOUT, PATIENCE, REACH_TIMEOUT, REACH_WAIT, WRITE_TIMEOUT,
};
use crate::ready::{Lack, Tie, is_majority, lacks, unserved};

impl Shard {
    /// The shards of a node that this one knows.
    pub(super) fn peers_of(&self, node: u16) -> Vec<Rc<Peer>> {
        let peers = self.peers.borrow();
        let of_node = peers.range(
            ShardAddress { node, shard: 0 }..=ShardAddress {
                node,
                shard: u16::MAX,
            },
        );
        of_node.map(|(_, peer)| peer.clone()).collect()
    }

    /// Whether a replica can be asked now.
    pub(crate) fn is_reachable(&self, address: ShardAddress) -> bool {
        address == self.address
            || self
                .peers
                .borrow()
                .get(&address)
                .is_some_and(|p| p.caller.is_connected() && !p.is_leaving.get())
    }

    /// Whether more than half of the members can be asked now.
    pub(crate) fn reaches_majority(&self) -> bool {
        let placement = self.placement();
        let members = placement.shards().filter(|s| placement.is_member(s.node));
        let others = members.filter(|s| s.node != self.address.node);
        let others = others.map(|s| (s.node, self.is_reachable(s)));
        is_majority(others, placement.is_member(self.address.node))
    }

    /// Gives `replicas` that are coming a moment, until `is_enough`: better than refusing what would
    /// succeed at once. Those that are lost are not waited for.
    pub(crate) async fn wait_for_reach(
        &self,
        replicas: &[ShardAddress],
        is_enough: impl Fn() -> bool,
    ) {
        let deadline = Instant::now() + REACH_WAIT;
        while !is_enough() {
            let missing = replicas.iter().filter(|r| !self.is_reachable(**r));
            let coming = missing
                .filter_map(|r| self.peer(*r))
                .filter(|p| p.caller.is_coming());
            let mut coming: FuturesUnordered<_> = coming
                .map(|peer| async move { peer.caller.connected().await })
                .collect();
            if coming.is_empty() || timeout_at(deadline, coming.next()).await.is_err() {
                return;
            }
        }
    }

    /// What this shard lacks to serve clients.
    pub(crate) async fn lacks(self: &Rc<Self>) -> Vec<Lack> {
        let mut found = Vec::new();
        let mut lack = |shard: &str, why: String| {
            found.push(Lack::new(shard, why));
        };
        let label = self.label();
        if let Some(trouble) = self.trouble() {
            lack(&label, trouble);
        }
        if self.is_refilling() {
            let filled = "it is being filled by the others".to_owned();
            lack(&label, self.damage().unwrap_or(filled));
        } else if !self.answers() {
            lack(&label, "it has yet to hear the others".to_owned());
        } else if self.trust() == Trust::Starting && self.clock_trouble().is_none() {
            lack(&label, "it has yet to compare its clock".to_owned());
        }
        if self.is_leaving() {
            lack(&label, "it is stopping".to_owned());
        }
        if self.is_superseded() {
            lack(&label, "another process runs as this node".to_owned());
        }
        let placement = self.placement();
        let members = placement.shards().filter(|s| placement.is_member(s.node));
        let others: Vec<_> = members.filter(|s| s.node != self.address.node).collect();
        let ties = join_all(others.iter().map(|address| self.tie(*address))).await;
        let named: Vec<(u16, String, Tie)> = others
            .iter()
            .map(|address| {
                let node = placement.nodes.get(&address.node);
                let node = node.map_or("?", |node| &node.name);
                (address.node, format!("{node}/{}", address.shard))
            })
            .zip(ties)
            .map(|((node, name), tie)| (node, name, tie))
            .collect();
        let ties: Vec<_> = named
            .iter()
            .map(|(node, name, tie)| (*node, name.as_str(), *tie))
            .collect();
        let is_first = !self.was_ready.get();
        for (shard, why) in lacks(
            &ties,
            placement.is_member(self.address.node),
            is_first,
            self.is_patient(),
        ) {
            lack(shard, why.to_owned());
        }
        // Of a node's shards one says what is true of them all.
        if self.address.shard == 0 {
            let keyspaces = placement.in_use();
            let keyspaces = keyspaces.map(|k| (&*k.name, k.settings.replicas));
            if let Some(why) = unserved(keyspaces, placement.member_count()) {
                lack(&label, why);
            }
        }
        if found.is_empty() {
            self.was_ready.set(true);
        }
        // Not before: a replica that others have to replace does not keep it from having been ready.
        found.extend(self.range_trouble().map(|trouble| Lack {
            shard: label,
            why: trouble.why,
            ranges: trouble.ranges,
        }));
        found
    }

    /// Whether it has ever been ready.
    pub(crate) fn was_ready(&self) -> bool {
        self.was_ready.get()
    }

    /// Whether it started so lately that others may not have noticed.
    fn is_patient(&self) -> bool {
        self.started.elapsed() < PATIENCE
    }

    async fn tie(self: &Rc<Self>, address: ShardAddress) -> Tie {
        let Some(peer) = self.peer(address) else {
            return Tie::Down;
        };
        if !peer.caller.is_connected() {
            return if peer.caller.has_failed() {
                Tie::Down
            } else {
                Tie::Connecting
            };
        }
        if peer.is_leaving.get() {
            return Tie::Down;
        }
        let asked = peer
            .caller
            .call(Request::Reach(self.address), REACH_TIMEOUT);
        match asked.await {
            Ok(Response::Reached(Reached { reaches: false, .. })) => Tie::OneWay,
            Ok(Response::Reached(Reached {
                has_heard: false, ..
            })) => Tie::Unheard,
            Ok(Response::Reached(Reached { is_current, .. })) => match is_current {
                false => Tie::MissesHere,
                true if peer.shares.get() && !peer.gauge.is_current() => Tie::MissesThere,
                true => Tie::Whole,
            },
            _ => Tie::OneWay,
        }
    }

    /// How this shard stands to one that asks whether it is reached from here.
    pub(crate) fn stands_to(&self, asker: ShardAddress) -> Reached {
        let Some(peer) = self.peer(asker) else {
            return Reached::default();
        };
        Reached {
            reaches: peer.caller.is_connected(),
            // What this shard cannot send, for a reason of its own, nobody is to wait for.
            is_current: !peer.shares.get() || peer.gauge.is_current() || self.trouble().is_some(),
            // Without a clock to stamp by it would refuse what it is chosen for.
            has_heard: self.has_heard() && self.trust() != Trust::Starting,
        }
    }

    /// Whether this shard is about to stop.
    pub(crate) fn is_leaving(&self) -> bool {
        self.leaving.get()
    }

    /// Tells the others not to choose this shard any more, and finishes what it does for them.
    pub async fn leave(&self) {
        if self.leaving.replace(true) || self.is_superseded() {
            return;
        }
        let peers: Vec<Rc<Peer>> = self.peers.borrow().values().cloned().collect();
        // Those of this node stop together with it.
        let others = peers.iter().filter(|p| p.address.node != self.address.node);
        let told = others.filter(|p| p.caller.is_connected());
        let told: Vec<_> = told
            .map(|peer| {
                peer.caller
                    .call(Request::Leaving(self.address), LEAVE_TIMEOUT)
            })
            .collect();
        if told.is_empty() {
            return;
        }
        drop(timeout(LEAVE_TIMEOUT, join_all(told)).await);
        // What was sent before may still be on its way.
        sleep(LEAVE_GRACE).await;
        let deadline = Instant::now() + WRITE_TIMEOUT;
        let is_busy = || std::rc::Rc::strong_count(&self.busy) > 1 || self.acks.borrow().len() > 0;
        while is_busy() && Instant::now() < deadline {
            sleep(Duration::from_millis(2)).await;
        }
    }

    /// Kept by whoever works for another node until it has answered: a stop waits for it.
    pub(crate) fn busy(&self) -> Busy {
        Busy(self.busy.clone())
    }
}

/// Work for another node that is under way.
pub(crate) struct Busy(#[expect(dead_code, reason = "it is counted")] Rc<()>);
