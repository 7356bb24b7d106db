//! A full copy of what two shards share, for when logs no longer reach back.

use std::ops::Bound;
use std::rc::Rc;

use bytes::Bytes;
use dunlin_store::{Entry, Kind};

use super::catch_up::address_of;
use crate::limits::{CALL_TIMEOUT, CHUNK_BYTES, PAGE_BYTES, PAGE_ITEMS, PAGE_TIMEOUT};
use crate::message::{Item, Page, Request, Response, SnapshotRequest};
use crate::shard::{Peer, Shard};

impl Shard {
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
        tracing::info!(
            from = peer.label,
            "its log no longer reaches back far enough: backfilling"
        );
        // The vector comes first: whatever the peer holds at this moment the pages will show.
        let asked = peer
            .caller
            .call(Request::Vectors(self.vector()), CALL_TIMEOUT)
            .await;
        let Ok(Response::Vectors(covered)) = asked else {
            return Err("no answer".to_owned());
        };
        let placement = self.placement();
        let mut count = 0;
        for keyspace in placement.keyspaces() {
            for partition in 0..keyspace.partition_count() {
                if keyspace.share(partition, self.address, peer.address) {
                    count += self
                        .backfill_partition(peer, keyspace.keyspace.id, partition)
                        .await?;
                }
            }
        }
        let claims: Vec<_> = covered
            .iter()
            .filter(|(origin, _)| address_of(*origin) == peer.address)
            .collect();
        self.log_claim(&claims, false);
        peer.pulled.borrow_mut().extend(covered.iter());
        tracing::info!(from = peer.label, records = count, "backfill complete");
        Ok(())
    }

    async fn backfill_partition(
        &self,
        peer: &Peer,
        keyspace: u32,
        partition: u16,
    ) -> Result<u64, String> {
        let mut start = Bytes::new();
        let mut count = 0;
        let mut chunk: Vec<Entry> = Vec::new();
        let mut chunk_bytes = 0;
        loop {
            let request = SnapshotRequest {
                keyspace,
                partition,
                start,
            };
            let answer = peer
                .caller
                .call(Request::Snapshot(request), PAGE_TIMEOUT)
                .await;
            let Ok(Response::Page(page)) = answer else {
                return Err("no answer".to_owned());
            };
            if !peer.shares.get() {
                return Err("it has left".to_owned());
            }
            count += page.items.len() as u64;
            self.counters
                .backfilled
                .set(self.counters.backfilled.get() + page.items.len() as u64);
            let placement = self.placement();
            let meant = page.items.into_iter().filter(|item| {
                placement
                    .keyspace(keyspace)
                    .is_some_and(|k| k.holds(self.address, partition, item.from))
            });
            for item in meant {
                chunk_bytes += item.key.len() + item.value.len();
                chunk.push(copy_of(item, keyspace, partition));
            }
            if chunk_bytes >= CHUNK_BYTES || page.next.is_none() {
                chunk_bytes = 0;
                self.take_records(std::mem::take(&mut chunk)).await?;
            }
            match page.next {
                Some(next) => start = next,
                None => return Ok(count),
            }
        }
    }

    /// One page of a partition, read off the event loop.
    pub(crate) async fn serve_snapshot(self: Rc<Self>, request: SnapshotRequest) -> Option<Page> {
        self.read_page(move |store| {
            store.scan_page(
                request.keyspace,
                request.partition,
                Bound::Included(&request.start[..]),
                Bound::Unbounded,
                PAGE_ITEMS,
                PAGE_BYTES,
                None,
            )
        })
        .await
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
        expiry_ms: item.expiry_ms,
        key: item.key,
        value: item.value,
    }
}
