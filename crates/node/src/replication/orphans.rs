//! What only copies are left of, and no vector names.
//!
//! A shard may hold a copy of an entry that its writer lost with the end of its log, or took along for
//! good: it came by a repair, out of another's log, or while members changed. Vectors are equal all
//! the same, so nobody asks for it. Who holds such a copy sends it to all who should.

use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::{Origin, Position, Vector, Version};
use dunlin_proto::{Item, Place, Request, Response, ShardAddress};

use super::Replication;
use super::backfill::copy_of;
use super::catch_up::address_of;
use crate::limits::{ORPHAN_INTERVAL, ORPHAN_PAUSE_MAX, PAGE_TIMEOUT};

/// Versions of one origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    after: Version,
    up_to: Version,
}

type Orphans = BTreeMap<Origin, Range>;

/// Of which versions nobody will bring what there is. `pending` came as copies, the same as `before`, a
/// look ago; `named` is the greatest that any replica's vector names. Above `limit` nobody takes them.
fn orphans(pending: &Vector, before: &Vector, named: &Vector, limit: Version) -> Orphans {
    let mut found = Orphans::new();
    for (origin, up_to) in pending.iter() {
        let after = named.get(origin);
        // What came since may be named by what its writer says next.
        let stands = before.get(origin) == up_to;
        if stands && up_to > after && up_to <= limit {
            found.insert(origin, Range { after, up_to });
        }
    }
    found
}

impl Replication {
    /// Looks for copies that no vector names for as long as the shard runs.
    pub(crate) async fn orphan_loop(self: Rc<Self>) {
        let mut before = Vector::new();
        let mut pause = ORPHAN_INTERVAL;
        loop {
            tokio::time::sleep(pause).await;
            let pending = self.shard.copies().pending();
            let found = match self.named_by_all(&pending) {
                Some(named) => orphans(&pending, &before, &named, self.shard.clock().limit()),
                None => Orphans::new(),
            };
            before = pending;
            if found.is_empty() {
                pause = ORPHAN_INTERVAL;
                continue;
            }
            match self.spread(&found).await {
                Ok(records) => {
                    pause = ORPHAN_INTERVAL;
                    let spread = found.iter().map(|(origin, range)| (*origin, range.up_to));
                    self.shard.copies().done(spread);
                    if records > 0 {
                        tracing::info!(records, "sent on what its writer has lost");
                    }
                }
                Err(error) => {
                    // Each time all that is held is looked at.
                    pause = (pause * 2).min(ORPHAN_PAUSE_MAX);
                    tracing::debug!(error, "what its writer has lost is not sent on yet");
                }
            }
        }
    }

    /// The greatest versions that any replica names of what is pending; `None` while one of them cannot
    /// say, or others will say better.
    fn named_by_all(&self, pending: &Vector) -> Option<Vector> {
        let placement = self.shard.placement();
        if !self.shard.answers() || placement.change.is_some() {
            return None;
        }
        let peers = self.shard.peers();
        let mut named = self.shard.vector();
        for peer in peers.values().filter(|peer| peer.shares.get()) {
            if !peer.heard.get() || !peer.caller.is_connected() {
                return None;
            }
            for (origin, _) in pending.iter() {
                // Of one that writes to this shard and not to the peer, the peer may name what it was
                // given beside that: it says nothing of who will bring what is here.
                let writer = address_of(origin);
                let is_heard = placement.vouches(peer.address, writer)
                    || !placement.share(self.shard.address(), writer);
                // Who has sealed it tells no longer how far it was; its writer does while this shard has not.
                let theirs = peer.vector.borrow();
                if is_heard && !theirs.is_sealed(origin) {
                    named.advance(origin, theirs.get(origin));
                }
            }
        }
        Some(named)
    }

    /// Sends all who should hold them the records here whose stamps are among these; how many there are.
    async fn spread(&self, orphans: &Orphans) -> Result<u64, String> {
        let placement = self.shard.placement();
        let mut records = 0;
        for keyspace in placement.keyspaces() {
            let id = keyspace.keyspace.id;
            if self.shard.is_dropped(id) {
                continue;
            }
            for partition in 0..keyspace.partition_count() {
                if !keyspace.order(partition).contains(&self.shard.address()) {
                    continue;
                }
                let place = Place {
                    keyspace: id,
                    partition,
                };
                records += self.spread_partition(orphans, place).await?;
            }
        }
        Ok(records)
    }

    async fn spread_partition(&self, orphans: &Orphans, place: Place) -> Result<u64, String> {
        let Place {
            keyspace,
            partition,
        } = place;
        let is_orphan = |item: &Item| {
            let Position { origin, sequence } = item.position();
            let range = orphans.get(&origin);
            range.is_some_and(|r| sequence > r.after && sequence <= r.up_to)
        };
        let mut records = 0;
        let mut next = Some(Bytes::new());
        while let Some(start) = next.take() {
            let read = self.shard.partition_page(place, start);
            let page = read.await.ok_or("what is here cannot be read")?;
            next = page.next;
            let mut to: BTreeMap<ShardAddress, Vec<Bytes>> = BTreeMap::new();
            let placement = self.shard.placement();
            for item in page.items.into_iter().filter(is_orphan) {
                records += 1;
                let holders = placement
                    .keyspace(keyspace)
                    .map(|k| k.replicas(partition, k.width(item.from)).to_vec());
                let entry = copy_of(item, keyspace, partition).encode();
                for holder in holders.unwrap_or_default() {
                    if holder != self.shard.address() {
                        to.entry(holder).or_default().push(entry.clone());
                    }
                }
            }
            for (holder, entries) in to {
                let peer = self.shard.peer(holder).ok_or("a replica is gone")?;
                let sent = peer.caller.call(Request::Repair(entries), PAGE_TIMEOUT);
                if !matches!(sent.await, Ok(Response::Done)) {
                    return Err(format!("{} does not take it", peer.label));
                }
            }
        }
        Ok(records)
    }
}

#[cfg(test)]
#[path = "orphans_tests.rs"]
mod tests;
