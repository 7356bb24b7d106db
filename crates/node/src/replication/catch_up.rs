//! Getting what was missed, from whichever replica has it.
//!
//! Vectors are exchanged with every peer. Where a peer is ahead on an origin
//! whose own stream is not bringing the difference, the entries are pulled out
//! of the peer's log. Only the origin's own shard can say "that is all of mine
//! meant for you": what others give is applied as copies and the vector stays.
//! What this shard lost of its own past is a case apart: see `reclaim`.

use std::collections::HashMap;
use std::rc::{Rc, Weak};
use std::time::Duration;

use dunlin_entry::{Entry, EntryView, Origin, Vector, Version};
use dunlin_proto::{
    Batch, BatchAnswer, PullAnswer, PullRequest, Request, Response, ShardAddress, VectorsAnswer,
    VectorsRequest,
};
use tokio::sync::oneshot;

use super::Replication;
use crate::limits::{CALL_TIMEOUT, GOSSIP_INTERVAL, PAGE_TIMEOUT, REFILL_INTERVAL};
use crate::shard::Peer;

impl Replication {
    /// Watches one peer's vector and fetches what this shard misses, whenever they share anything.
    pub(crate) async fn catch_up_loop(self: Rc<Self>, peer: Weak<Peer>) {
        // Per origin, how far this shard was at the last look: standing still while behind means nobody brings it.
        let mut last_seen: HashMap<Origin, Version> = HashMap::new();
        let mut pause = Duration::ZERO;
        loop {
            tokio::time::sleep(pause).await;
            // Reads wait for the word of others after a start, and for a refill to end.
            pause = if self.shard.is_settled() {
                GOSSIP_INTERVAL
            } else {
                REFILL_INTERVAL
            };
            let Some(peer) = peer.upgrade() else { return };
            if !peer.shares.get() {
                last_seen.clear();
                continue;
            }
            if !peer.caller.is_connected() {
                continue;
            }
            let Some(VectorsAnswer { vector: theirs, .. }) = self.exchange(&peer).await else {
                continue;
            };
            self.shard.refill_heard(peer.address, &theirs);
            let placement = self.shard.placement();
            for (origin, version) in theirs.iter() {
                let have = self.shard.has_up_to(origin);
                let is_far = self.shard.is_far(version, have);
                let writer = address_of(origin);
                // What comes late of one that has left could bring back what was deleted since, and
                // the delete forgotten: all that it wrote was here before it left.
                let has_left = writer != self.shard.address()
                    && !placement.share(self.shard.address(), writer);
                // Whether all is here that a seal covers, its writer alone can say. While this shard is
                // filled, that is part of it.
                let is_foreign_seal =
                    origin.is_seal() && (writer != peer.address || self.shard.is_refilling());
                let is_here = origin == self.shard.origin() || have >= version;
                if is_here || has_left || is_foreign_seal {
                    last_seen.remove(&origin);
                    if writer == peer.address && have >= version {
                        peer.is_failing.set(false);
                    }
                    continue;
                }
                let stood_still = last_seen.insert(origin, have) == Some(have);
                let pulled = peer.pulled.borrow().get(origin);
                let ours = writer == self.shard.address();
                if !stood_still || !ours && !origin.is_seal() && pulled >= version {
                    continue;
                }
                // One is asked for an entry, never two at once.
                if self.comes_from_itself(peer.address, origin, version) {
                    continue;
                }
                // Entries stamped by a clock gone wrong are not fetched. What became of them is: by
                // records, once they are mended.
                if is_far && self.shard.are_copies_paused() {
                    continue;
                }
                let caught_up = if ours {
                    self.reclaim(origin).await
                } else if is_far || origin.is_seal() || self.shard.known().is_sealed(origin) {
                    // Of what is sealed nobody knows how far it was here before.
                    self.backfill_from(&peer).await
                } else {
                    self.pull(&peer, origin, have, version).await
                };
                peer.is_failing.set(caught_up.is_err());
                if let Err(error) = caught_up {
                    self.tell_interrupted(&error, &peer, is_far);
                    break;
                }
            }
            if self.shard.refill_wants(&peer)
                && !self.shard.are_copies_paused()
                && let Err(error) = self.backfill_from(&peer).await
            {
                self.tell_interrupted(&error, &peer, self.shard.are_copies_paused());
            }
        }
    }

    /// Nothing new is told of what is tried again at once; what waits for a mend is.
    fn tell_interrupted(&self, error: &str, peer: &Peer, is_far: bool) {
        if is_far {
            tracing::warn!(error, from = peer.label, "catching up is interrupted")
        } else {
            tracing::debug!(error, from = peer.label, "catching up is interrupted")
        }
    }

    /// Tells a peer this shard's vector and hears the peer's; `None` without an answer, or when the
    /// peer has left meanwhile.
    pub(super) async fn exchange(&self, peer: &Rc<Peer>) -> Option<VectorsAnswer> {
        let request = VectorsRequest {
            vector: self.shard.vector(),
            asker: self.shard.as_asker(peer),
        };
        let asked = peer.caller.call(Request::Vectors(request), CALL_TIMEOUT);
        let Ok(Response::Vectors(answer)) = asked.await else {
            return None;
        };
        if !peer.shares.get() {
            return None;
        }
        if let Some(told) = answer.answerer.contradiction {
            self.shard.contradicted(peer, told);
        }
        let before = peer.vector.replace(answer.vector.clone());
        self.shard.held().changed();
        peer.behind_ms.set(self.behind_ms(peer, &before));
        peer.heard.set(true);
        self.shard.heard_of_seals(peer, &answer);
        Some(answer)
    }

    /// How much later the peer had stamped its newest entry when it was heard before than the newest of
    /// its that is here now, in milliseconds; 0 when nothing of that is missing.
    fn behind_ms(&self, peer: &Peer, before: &Vector) -> u64 {
        let newest = |vector: &Vector| {
            let of_peer = vector
                .iter()
                .filter(|(o, _)| address_of(*o) == peer.address);
            of_peer.map(|(_, version)| version).max()
        };
        match (newest(before), newest(&self.shard.known())) {
            (Some(theirs), Some(here)) => theirs.millis().saturating_sub(here.millis()),
            _ => 0,
        }
    }

    async fn pull(
        self: &Rc<Self>,
        peer: &Rc<Peer>,
        origin: Origin,
        after: Version,
        target: Version,
    ) -> Result<(), String> {
        let from_itself = address_of(origin) == peer.address;
        tracing::info!(from = peer.label, %origin, "catching up from its log");
        let mut resume_index = 0;
        let mut after_page = after;
        loop {
            let page = self
                .pull_page(peer, origin, after, resume_index)
                .await
                .ok_or("no answer")?;
            let PullAnswer::Entries {
                entries,
                up_to,
                resume_index: next,
            } = page
            else {
                return self.backfill_from(peer).await;
            };
            resume_index = next;
            if from_itself {
                self.batch_in(origin, after_page, up_to, entries).await?;
            } else {
                self.copy_in(entries).await?;
            }
            // A page with nothing in it tells of nothing new.
            after_page = up_to.max(after_page);
            if resume_index == 0 {
                break;
            }
        }
        self.shard
            .counters()
            .pulled
            .set(self.shard.counters().pulled.get() + 1);
        peer.pulled.borrow_mut().advance(origin, target);
        Ok(())
    }

    /// `None` without an answer, or when the peer has left meanwhile: what comes late of one that
    /// has left does not count.
    pub(super) async fn pull_page(
        &self,
        peer: &Peer,
        origin: Origin,
        after: Version,
        resume_index: u64,
    ) -> Option<PullAnswer> {
        let request = PullRequest {
            origin,
            after,
            for_shard: self.shard.address(),
            resume_index,
        };
        match peer.call_aside(Request::Pull(request), PAGE_TIMEOUT).await {
            Ok(Response::Pulled(answer)) if peer.shares.get() => Some(answer),
            _ => None,
        }
    }

    /// Logs entries that are all the origin has for this shard up to `up_to`, and waits until they are applied.
    pub(super) async fn batch_in(
        &self,
        origin: Origin,
        after: Version,
        up_to: Version,
        entries: Vec<bytes::Bytes>,
    ) -> Result<(), String> {
        let (tell, told) = oneshot::channel();
        let have = self.shard.has_up_to(origin);
        let news = |entry: &bytes::Bytes| {
            // What does not decode is refused below.
            EntryView::new(entry).map_or(true, |view| view.position().sequence > have)
        };
        let batch = Batch {
            origin,
            after,
            up_to,
            entries: entries.into_iter().filter(news).collect(),
            held: Vec::new(),
        };
        self.shard
            .append_batch(batch, move |answer| drop(tell.send(answer)));
        match told.await {
            Ok(BatchAnswer::Have { .. }) => Ok(()),
            _ => Err("refused by the own log".to_owned()),
        }
    }

    /// Applies entries that do not advance the vector.
    async fn copy_in(&self, encoded: Vec<bytes::Bytes>) -> Result<(), String> {
        let entries: Result<Vec<Entry>, _> = encoded.into_iter().map(Entry::decode).collect();
        let entries = entries.map_err(|_| "an entry does not decode")?;
        if let Some(first) = entries.first() {
            let position = first.position();
            self.shard.refill_meets(position.origin, position.sequence);
        }
        self.shard.copies_applied(entries).await
    }
}

/// The shard an origin belongs to, in whichever incarnation.
pub(crate) fn address_of(origin: Origin) -> ShardAddress {
    ShardAddress {
        node: origin.node(),
        shard: origin.shard(),
    }
}
