//! What this shard lost of its own past.
//!
//! After a power loss the entries of an earlier incarnation may reach further
//! at other replicas than here. Those who miss some of them will ask this
//! shard, whose word "that is all of mine meant for you" they take. So it must
//! gather what all the others have before its vector may say that it is here.

use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::{Entry, EntryView, Kind, Origin, Vector, Version};
use dunlin_proto::PullAnswer;

use super::Replication;
use crate::shard::Peer;

impl Replication {
    /// Gathers the entries of an earlier incarnation of this shard that others
    /// have and it has not. Does nothing before every replica has told its vector.
    pub(super) async fn reclaim(self: &Rc<Self>, origin: Origin) -> Result<(), String> {
        let sharing: Vec<Rc<Peer>> = {
            let peers = self.shard.peers();
            peers.values().filter(|p| p.shares.get()).cloned().collect()
        };
        if !sharing.iter().all(|peer| peer.heard.get()) || self.reclaiming.replace(true) {
            return Ok(());
        }
        let result = self.gather(origin, &sharing).await;
        self.reclaiming.set(false);
        result
    }

    async fn gather(self: &Rc<Self>, origin: Origin, sharing: &[Rc<Peer>]) -> Result<(), String> {
        let have = self.shard.has_up_to(origin);
        let mut up_to = have;
        let mut entries: BTreeMap<Version, Bytes> = BTreeMap::new();
        let mut whole = true;
        // What is above a seal came of one that was away: what lies below it, nobody knows one by one.
        let is_sealed = self.shard.known().is_sealed(origin);
        for peer in sharing {
            // One whose vector tells of nothing more may hold copies.
            let theirs = peer.vector.borrow().get(origin);
            up_to = up_to.max(theirs);
            tracing::info!(from = peer.label, %origin, "asking for what was lost of the own past");
            // Entries stamped too far ahead come as records only, once they are mended.
            let is_far = is_sealed || theirs > self.shard.clock().limit();
            if is_far || !self.gather_from(peer, origin, have, &mut entries).await? {
                whole = false;
                // One copy of what it holds serves all the starts there were.
                if is_far || !peer.was_copied(origin, self.shard.placement().revision) {
                    self.backfill_from(peer).await?;
                }
            }
        }
        if !sharing.iter().all(|peer| peer.shares.get()) {
            return Err("one of them has left".to_owned());
        }
        if whole {
            self.batch_in(origin, have, up_to, entries.into_values().collect())
                .await?;
            self.shard.log_claim(&[(origin, up_to)], true);
        } else {
            // Some of it came without its place in the log: whoever asks must backfill, too.
            if let Some(oldest) = entries.keys().next() {
                self.shard.refill_meets(origin, *oldest);
            }
            let copies: Result<Vec<Entry>, _> = entries.into_values().map(Entry::decode).collect();
            self.shard
                .copies_applied(copies.map_err(|_| "an entry does not decode")?)
                .await?;
            self.shard.claim_aside(&[(origin, up_to)]).await?;
        }
        self.shard
            .counters()
            .pulled
            .set(self.shard.counters().pulled.get() + 1);
        Ok(())
    }

    /// Adds what a peer's log has of the origin; false when it no longer reaches back.
    async fn gather_from(
        &self,
        peer: &Peer,
        origin: Origin,
        after: Version,
        entries: &mut BTreeMap<Version, Bytes>,
    ) -> Result<bool, String> {
        let mut resume_index = 0;
        loop {
            let page = self.pull_page(peer, origin, after, resume_index).await;
            let PullAnswer::Entries {
                entries: page,
                resume_index: next,
                ..
            } = page.ok_or("no answer")?
            else {
                return Ok(false);
            };
            for entry in page {
                let view = EntryView::new(&entry).map_err(|_| "an entry does not decode")?;
                entries.insert(view.position().sequence, entry);
            }
            resume_index = next;
            if resume_index == 0 {
                return Ok(true);
            }
        }
    }
}

/// How far a log record says its log has entries of `origin` that are not in it; zero for all other records.
pub(super) fn hole_up_to(record: &[u8], origin: Origin) -> Version {
    match EntryView::new(record) {
        Ok(view) if view.kind() == Kind::Vector && view.copy() => {
            Vector::decode(view.value()).map_or(Version(0), |claimed| claimed.get(origin))
        }
        _ => Version(0),
    }
}

#[cfg(test)]
#[path = "reclaim_tests.rs"]
pub(crate) mod tests;
