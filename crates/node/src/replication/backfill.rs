//! A full copy of what two shards share, for when logs no longer reach back.

use std::collections::HashMap;
use std::ops::Bound;
use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::{Entry, Kind, Rank, Stamp, Vector};
use dunlin_proto::{Item, Life, Page, Place, Request, Response, SnapshotRequest};

use super::Replication;
use super::catch_up::address_of;
use super::reconcile::{Verdict, Word, reconcile};
use crate::limits::{CHUNK_BYTES, PAGE_BYTES, PAGE_ITEMS, PAGE_TIMEOUT};
use crate::shard::{Begun, Peer};

/// Records that are dropped at once, while writers wait.
const FORGET_RECORDS: usize = 128;

/// What a backfill goes by, as told at its beginning.
struct Terms {
    /// The peer's vector.
    covered: Vector,
    /// In which of its lives, and how it is to be taken; unknown of an earlier version.
    life: Option<Life>,
    /// The past of this shard is not certain.
    is_refill: bool,
}

impl Replication {
    /// Copies every partition held by both from the peer, then notes how far
    /// the peer's own entries are covered by that.
    pub(crate) async fn backfill_from(self: &Rc<Self>, peer: &Rc<Peer>) -> Result<(), String> {
        if peer.backfilling.replace(true) {
            return Err("a backfill from it is under way".to_owned());
        }
        let result = self.backfill(peer).await;
        peer.backfilling.set(false);
        result
    }

    async fn backfill(self: &Rc<Self>, peer: &Rc<Peer>) -> Result<(), String> {
        match self.shard.is_refilling() {
            true => tracing::info!(from = peer.label, "backfilling what it holds"),
            false => tracing::info!(
                from = peer.label,
                "its log no longer reaches back far enough: backfilling"
            ),
        }
        let begun = self.shard.backfill_begins();
        self.shard.open_gap().await?;
        let given = self.copy_all(peer, begun).await;
        self.shard.close_gap(given.as_ref().ok()).await;
        given.map(drop)
    }

    /// Copies, and claims; answers the peer's vector.
    async fn copy_all(self: &Rc<Self>, peer: &Rc<Peer>, begun: Begun) -> Result<Vector, String> {
        // The vector comes first: whatever the peer holds at this moment the pages will show.
        let answer = self.exchange(peer).await.ok_or("no answer")?;
        let terms = Terms {
            covered: answer.vector,
            life: answer.answerer.map(|answerer| answerer.life),
            is_refill: self.shard.is_refilling(),
        };
        let placement = self.shard.placement();
        let mut count = 0;
        for keyspace in placement.keyspaces() {
            for partition in 0..keyspace.partition_count() {
                if keyspace.share(partition, self.shard.address, peer.address) {
                    let place = Place {
                        keyspace: keyspace.keyspace.id,
                        partition,
                    };
                    count += self.backfill_partition(peer, &terms, place).await?;
                }
            }
        }
        let covered = terms.covered.iter();
        let claims: Vec<_> = covered
            .filter(|(origin, _)| address_of(*origin) == peer.address)
            .collect();
        self.shard.log_claim(&claims, false);
        peer.pulled.borrow_mut().extend(terms.covered.iter());
        // One whose own past is not certain may hold more of it later.
        if terms.life.is_some_and(|life| life.is_whole) {
            peer.copied
                .replace(Some((placement.revision, terms.covered.clone())));
        }
        if terms.is_refill {
            let is_compared = terms.life.is_some_and(|life| life.is_whole);
            self.shard.refill_given(peer.address, begun, is_compared);
            if !is_compared && count > 0 {
                // Others are to be heard on what it gave.
                self.shard.refill_met_uncertain();
            }
            self.shard.end_refill_if_whole();
        }
        tracing::info!(from = peer.label, records = count, "backfill complete");
        Ok(terms.covered)
    }

    async fn backfill_partition(
        &self,
        peer: &Peer,
        terms: &Terms,
        place: Place,
    ) -> Result<u64, String> {
        let Place {
            keyspace,
            partition,
        } = place;
        let mut start = Bytes::new();
        let mut count = 0;
        let mut chunk: Vec<Entry> = Vec::new();
        let mut chunk_bytes = 0;
        loop {
            let request = SnapshotRequest {
                keyspace,
                partition,
                start: start.clone(),
                is_asker_whole: !terms.is_refill,
            };
            let answer = peer
                .caller
                .call(Request::Snapshot(request), PAGE_TIMEOUT)
                .await;
            let Ok(Response::Page(mut page)) = answer else {
                return Err("no answer".to_owned());
            };
            if !peer.shares.get() {
                return Err("it has left".to_owned());
            }
            if terms.is_refill && page.life != terms.life {
                // What was said at the beginning does not hold for this page.
                return Err("it has started anew, or doubts its past".to_owned());
            }
            if terms.is_refill {
                self.compare(peer, terms, place, &start, &mut page).await?;
            }
            count += page.items.len() as u64;
            self.shard
                .counters
                .backfilled
                .set(self.shard.counters.backfilled.get() + page.items.len() as u64);
            let placement = self.shard.placement();
            let meant = page.items.into_iter().filter(|item| {
                placement
                    .keyspace(keyspace)
                    .is_some_and(|k| k.holds(self.shard.address, partition, item.from))
            });
            for item in meant {
                chunk_bytes += item.key.len() + item.value.len();
                chunk.push(copy_of(item, keyspace, partition));
            }
            if chunk_bytes >= CHUNK_BYTES || page.next.is_none() {
                chunk_bytes = 0;
                self.shard.ingest(std::mem::take(&mut chunk)).await?;
            }
            match page.next {
                Some(next) => start = next,
                None => return Ok(count),
            }
        }
    }

    /// Takes out of a page what is held here already, and drops what is held here but not there
    /// because it was deleted and the delete forgotten.
    async fn compare(
        &self,
        peer: &Peer,
        terms: &Terms,
        place: Place,
        start: &Bytes,
        page: &mut Page,
    ) -> Result<(), String> {
        let Place {
            keyspace,
            partition,
        } = place;
        let mut theirs: HashMap<Bytes, Rank> = page
            .items
            .iter()
            .map(|item| (item.key.clone(), item.rank()))
            .collect();
        let mut next = Some(start.clone());
        while let Some(from) = next.take() {
            let end = page.next.clone();
            let read = self.shard.read_page(move |store| {
                let end = match &end {
                    Some(end) => Bound::Excluded(&end[..]),
                    None => Bound::Unbounded,
                };
                let start = Bound::Included(&from[..]);
                store.scan_page(
                    keyspace, partition, start, end, PAGE_ITEMS, PAGE_BYTES, None,
                )
            });
            let Some(ours) = read.await else {
                // It stays so, however often it is tried.
                self.shard.pause_copies();
                return Err("what is here cannot be read".to_owned());
            };
            let mut forgotten = Vec::new();
            for item in ours.items {
                let their_rank = theirs.get(&item.key).copied();
                let word = self.word_of(peer, terms, place, &item);
                match reconcile(Some(item.rank()), their_rank, word) {
                    Verdict::Take => {}
                    Verdict::Keep => drop(theirs.remove(&item.key)),
                    Verdict::Forget => forgotten.push((item.key, item.stamp)),
                }
            }
            if !forgotten.is_empty() {
                let dropped = self.shard.store_behind(move |store| {
                    let mut dropped = 0;
                    for some in forgotten.chunks(FORGET_RECORDS) {
                        dropped += store.forget(keyspace, partition, some)?;
                    }
                    Ok(dropped)
                });
                let dropped = dropped.await?;
                tracing::info!(
                    by = peer.label,
                    records = dropped,
                    "dropped what was deleted since"
                );
                self.shard.refill_forgot(dropped);
            }
            next = ours.next;
        }
        page.items.retain(|item| theirs.contains_key(&item.key));
        Ok(())
    }

    /// What it says of a record here that the peer holds nothing for its key.
    fn word_of(&self, peer: &Peer, terms: &Terms, place: Place, ours: &Item) -> Word {
        let placement = self.shard.placement();
        let Stamp { version, origin } = ours.stamp;
        Word {
            is_whole: terms.life.is_some_and(|life| life.is_whole),
            has_seen: terms.covered.get(origin) >= version,
            is_meant: placement
                .keyspace(place.keyspace)
                .is_some_and(|k| k.is_kept_by(peer.address, place.partition, ours.from)),
        }
    }

    /// One page of a partition; `None` when it cannot be read, or is not to be shown.
    pub(crate) async fn serve_backfill(self: Rc<Self>, request: SnapshotRequest) -> Option<Page> {
        if request.is_asker_whole && !self.shard.answers() {
            // What is here may have been deleted everywhere else, and must not spread.
            return None;
        }
        let place = Place {
            keyspace: request.keyspace,
            partition: request.partition,
        };
        let mut page = self.shard.partition_page(place, request.start).await?;
        page.life = Some(self.shard.life());
        Some(page)
    }
}

/// A stored record as an entry with its true stamp.
pub(crate) fn copy_of(item: Item, keyspace: u32, partition: u16) -> Entry {
    Entry {
        kind: if item.tombstone {
            Kind::Delete
        } else {
            Kind::Put
        },
        copy: true,
        from: item.from,
        partition,
        keyspace,
        stamp: item.stamp,
        logged: None,
        expiry_ms: item.expiry_ms,
        is_expiry: item.is_expiry,
        replaces: item.replaces,
        key: item.key,
        value: item.value,
    }
}

#[cfg(test)]
#[path = "backfill_tests.rs"]
mod tests;
