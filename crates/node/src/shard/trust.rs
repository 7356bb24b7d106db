//! What this shard's clock is good for: compared with the other nodes' every so often.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use dunlin_entry::Version;
use dunlin_proto::{ClockAnswer, ClockRequest, Item, Request, Response};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::time::Instant;

use super::{Peer, Shard};
use crate::fence::{Offset, Trust, judge, measure};
use crate::limits::{
    CALL_TIMEOUT, CLOCK_INTERVAL, CLOCK_PATIENCE, CLOCK_START_INTERVAL, COPY_PAUSE,
};
use crate::quorum::Failure;

/// The clocks were looked at in this very step, and may be stamped by: not to be kept over an await, for
/// meanwhile they may jump. A look is two system clocks, so a write hands it on instead of looking again.
#[derive(Clone, Copy)]
pub(crate) struct Looked(());

/// The verdict, and what it came from.
pub(super) struct Comparison {
    verdict: Cell<Trust>,
    /// Jumps of the wall clock known of at the verdict: one more makes it void.
    jumps: Cell<u64>,
    /// Since when it is known whom to ask.
    begun: Cell<Instant>,
    /// The other members' clocks, by node, as they answered last time.
    offsets: RefCell<BTreeMap<u16, Option<Offset>>>,
}

impl Default for Comparison {
    fn default() -> Self {
        Comparison {
            verdict: Cell::default(),
            jumps: Cell::new(0),
            begun: Cell::new(Instant::now()),
            offsets: RefCell::default(),
        }
    }
}

impl Shard {
    /// Whether a version that another has seen is too far ahead. What is here already is no news.
    pub(crate) fn is_far(&self, version: Version, have: Version) -> bool {
        if have >= version {
            !self.clock.observe(version)
        } else {
            !self.take_over(version)
        }
    }

    /// What the clock is good for, as of the last look at it.
    pub(crate) fn trust(&self) -> Trust {
        if self.comparison.jumps.get() == self.stalls.jumps() {
            self.comparison.verdict.get()
        } else {
            Trust::Starting
        }
    }

    /// Fails while this shard must not stamp anything.
    pub(crate) fn may_stamp(&self) -> Result<Looked, Failure> {
        self.may_judge()?;
        if !self.clock.is_beyond_at(self.stalls.seen_ms()) {
            Ok(Looked(()))
        } else {
            Err(self.mistrust())
        }
    }

    /// Fails while this shard does not know which stamps are far ahead.
    pub(crate) fn may_judge(&self) -> Result<(), Failure> {
        // A jump since the last look must not be stamped with.
        self.stalls.observe();
        self.judged()
    }

    /// The same as of the last look: refuses early what would be refused after a look.
    pub(crate) fn judged(&self) -> Result<(), Failure> {
        match self.trust() {
            Trust::Trusted | Trust::Alone => Ok(()),
            Trust::Starting | Trust::Fenced { .. } => Err(self.mistrust()),
        }
    }

    /// Fails while this shard takes no requests.
    ///
    /// # Errors
    /// When its clock is known to be wrong.
    pub fn may_read(&self) -> Result<(), Failure> {
        match self.trust() {
            Trust::Fenced { .. } => Err(self.mistrust()),
            _ => Ok(()),
        }
    }

    /// Whether clients see a value in this record.
    ///
    /// # Errors
    /// When that depends on a clock that may be wrong: what has expired is not to be told by it.
    pub fn shows(&self, item: &Item) -> Result<bool, Failure> {
        if !item.tombstone && item.expiry_ms.is_some() {
            self.may_judge()?;
        }
        Ok(item.is_visible(self.clock.now_ms()))
    }

    fn mistrust(&self) -> Failure {
        Failure::Clock(self.clock_trouble().unwrap_or_else(|| {
            "this node has not compared its clock with the other nodes' yet: try again in a moment"
                .into()
        }))
    }

    /// Whether another node's clock is off by more than the bound, as most say.
    pub(crate) fn has_wrong_clock(&self, node: u16) -> bool {
        let bound_ms = self.clock.bound_ms();
        let offsets = self.comparison.offsets.borrow();
        let offset = offsets.get(&node).copied().flatten();
        self.trust() == Trust::Trusted && offset.is_some_and(|offset| offset.is_beyond(bound_ms))
    }

    /// What is wrong with the clock, if anything is known to be.
    pub(crate) fn clock_trouble(&self) -> Option<String> {
        let bound_ms = self.clock.bound_ms();
        match self.trust() {
            Trust::Trusted | Trust::Alone if self.clock.is_beyond() => Some(format!(
                "the clock of {} was set back after it had stamped writes: it stamps none until that time has come again, or it is restarted",
                self.config.name,
            )),
            Trust::Trusted | Trust::Alone => None,
            Trust::Fenced { ahead_ms } => Some(format!(
                "the clock of {} is {} most others', more than --clock-bound ({bound_ms} ms): it takes no requests until its clock is set right",
                self.config.name,
                distance(ahead_ms),
            )),
            Trust::Starting => {
                let offsets = self.comparison.offsets.borrow();
                let placement = self.placement();
                let (node, offset) = offsets.iter().find_map(|(node, offset)| {
                    let offset = (*offset)?;
                    (offset.ahead_ms.unsigned_abs() > bound_ms).then_some((node, offset))
                })?;
                let name = placement.nodes.get(node).map_or("another", |n| &n.name);
                Some(format!(
                    "the clock of {} is {} that of {name}, more than --clock-bound ({bound_ms} ms), and no majority says who is right: it stamps no writes until the clocks are set right",
                    self.config.name,
                    distance(offset.ahead_ms.saturating_neg()),
                ))
            }
        }
    }

    /// A copy met what only somebody can mend, a record stamped too far ahead or damage here: others
    /// like it would, too.
    pub(crate) fn pause_copies(&self) {
        self.copy_pause.set(Some(Instant::now() + COPY_PAUSE));
    }

    /// Whether no copy is tried that would end in the same way.
    pub(crate) fn are_copies_paused(&self) -> bool {
        let until = self.copy_pause.get();
        until.is_some_and(|until| Instant::now() < until)
    }

    /// Compares clocks for as long as the shard runs.
    pub(super) async fn clock_loop(self: Rc<Self>) {
        loop {
            self.compare_clocks().await;
            let pause: Duration = match self.trust() {
                Trust::Trusted => CLOCK_INTERVAL,
                _ => CLOCK_START_INTERVAL,
            };
            tokio::time::sleep(pause).await;
        }
    }

    async fn compare_clocks(&self) {
        self.stalls.observe();
        let before = self.trust();
        let jumps = self.stalls.jumps();
        let others: Vec<(u16, Option<Rc<Peer>>)> = {
            let placement = self.placement();
            if !placement.nodes.contains_key(&self.address.node) {
                // It has not heard of the cluster yet: that is no cluster of one.
                self.comparison.begun.set(Instant::now());
                return;
            }
            let members = placement.nodes.keys().copied();
            members
                .filter(|node| *node != self.address.node && placement.is_member(*node))
                .map(|node| (node, self.peer_of(node)))
                .collect()
        };
        let judged = |offsets: &BTreeMap<u16, Option<Offset>>| {
            // After a jump patience proves nothing.
            let waited = jumps == 0 && self.comparison.begun.get().elapsed() >= CLOCK_PATIENCE;
            let list: Vec<Option<Offset>> = offsets.values().copied().collect();
            judge(before, &list, self.clock.bound_ms(), waited)
        };
        let mut offsets: BTreeMap<_, _> = others.iter().map(|(node, _)| (*node, None)).collect();
        let mut asked: FuturesUnordered<_> = others
            .into_iter()
            .map(|(node, peer)| async move {
                let offset = match peer {
                    Some(peer) => self.offset_of(&peer).await,
                    None => None,
                };
                (node, offset)
            })
            .collect();
        while let Some((node, offset)) = asked.next().await {
            offsets.insert(node, offset);
            // A start does not wait for one that hangs, when a majority agrees.
            if before == Trust::Starting && judged(&offsets) == Trust::Trusted {
                self.conclude(Trust::Trusted, jumps);
            }
        }
        let verdict = judged(&offsets);
        self.comparison.offsets.replace(offsets);
        self.conclude(verdict, jumps);
        // By how much a clock is off differs from look to look.
        if std::mem::discriminant(&verdict) != std::mem::discriminant(&before) {
            match self.clock_trouble() {
                Some(trouble) => tracing::error!("{trouble}"),
                None => tracing::debug!(?verdict, "clocks compared"),
            }
        }
    }

    /// Stands until there is one more jump.
    fn conclude(&self, verdict: Trust, jumps: u64) {
        self.comparison.verdict.set(verdict);
        self.comparison.jumps.set(jumps);
        self.grace.set_trusted(verdict == Trust::Trusted);
    }

    /// A shard of a node that can be asked, best the one that corresponds.
    fn peer_of(&self, node: u16) -> Option<Rc<Peer>> {
        let peers = self.peers.borrow();
        let connected = || {
            peers
                .values()
                .filter(|peer| peer.address.node == node && peer.caller.is_connected())
        };
        connected()
            .find(|peer| peer.address.shard == self.address.shard)
            .or_else(|| connected().next())
            .cloned()
    }

    /// How far another's clock is ahead, and on the way what it says of drops; `None` without an
    /// answer.
    async fn offset_of(&self, peer: &Peer) -> Option<Offset> {
        let (sent, sent_ms) = (Instant::now(), self.clock.now_ms());
        let request = Request::Clock(ClockRequest {
            order: self.placement().drops.order,
        });
        match peer.caller.call(request, CALL_TIMEOUT).await {
            Ok(Response::Clock(ClockAnswer { now_ms, drops })) => {
                let way_ms = sent.elapsed().as_millis() as u64;
                self.hear_of_drops(peer.address.node, drops);
                Some(measure(sent_ms, self.clock.now_ms(), now_ms, way_ms))
            }
            _ => None,
        }
    }
}

/// `3 s behind`, `70 years ahead of`.
fn distance(ahead_ms: i64) -> String {
    let seconds = ahead_ms.unsigned_abs() / 1_000;
    let length = match seconds {
        0..600 => format!("{seconds} s"),
        600..172_800 => format!("{} min", seconds / 60),
        172_800..63_072_000 => format!("{} days", seconds / 86_400),
        _ => format!("{} years", seconds / 31_556_952),
    };
    if ahead_ms < 0 {
        format!("{length} behind")
    } else {
        format!("{length} ahead of")
    }
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
