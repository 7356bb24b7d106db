//! A range of a keyspace over the whole cluster, in key order, page by page:
//! enough replicas of every partition are read, and the newest record of each key wins.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use dunlin_proto::{Item, Page, Request, Response, ScanRequest, ShardAddress};
use dunlin_store::{Merge, Store, StoreError};
use futures_util::future::join_all;
use tokio::time::Instant;

use super::decide::{Quorum, try_order};
use super::merge::{self, Stream};
use super::walks::{Place, Walks};
use super::{Coordinator, Failure};
use crate::limits::{PAGE_BYTES, PAGE_ITEMS, PAGE_TIMEOUT};
use crate::placement::KeyspacePlacement;
use crate::shard::Shard;

struct Source {
    stream: Stream,
    start: Bytes,
    /// By which members it was chosen.
    epoch: u64,
    /// By which step of a change of them.
    step: u64,
}

/// A scan under way. Holds one page a source and no more.
pub struct Scan {
    coordinator: Rc<Coordinator>,
    shard: Rc<Shard>,
    keyspace: u32,
    end: Option<Bytes>,
    quorum: Quorum,
    sources: BTreeMap<ShardAddress, Source>,
    /// Replicas that failed, each with the step of the members it was chosen by.
    lost: Vec<(ShardAddress, u64)>,
    /// Keys up to here have been given out.
    position: Bytes,
    /// Whether every partition has enough sources.
    is_covered: bool,
}

impl Scan {
    /// Begins a scan of `[start, end)`.
    ///
    /// # Errors
    /// When the keyspace is unknown, or too few replicas of some partition are reachable and none
    /// is coming.
    pub fn begin(
        coordinator: &Rc<Coordinator>,
        keyspace: u32,
        start: Bytes,
        end: Option<Bytes>,
        quorum: Quorum,
    ) -> Result<Scan, Failure> {
        let mut scan = Scan {
            shard: coordinator.shard.clone(),
            coordinator: coordinator.clone(),
            keyspace,
            end,
            quorum,
            sources: BTreeMap::new(),
            lost: Vec::new(),
            position: start,
            is_covered: false,
        };
        match scan.cover() {
            Err(Failure::NotEnoughReplicas { .. }) if scan.is_more_coming() => {}
            covered => covered?,
        }
        Ok(scan)
    }

    fn is_more_coming(&self) -> bool {
        let peers = self.shard.peers();
        peers.values().any(|peer| peer.caller.is_coming())
    }

    /// The same as `cover`, but gives replicas that are coming a moment; those that were lost before
    /// may be among them.
    async fn cover_patiently(&mut self) -> Result<(), Failure> {
        let mut reachable = 0;
        loop {
            let covered = self.cover();
            if !matches!(covered, Err(Failure::NotEnoughReplicas { .. })) {
                return covered;
            }
            let all: Vec<ShardAddress> = self.shard.placement().shards().collect();
            let shard = self.shard.clone();
            let count = || all.iter().filter(|r| shard.is_reachable(**r)).count();
            let before = count().max(reachable);
            shard.wait_for_reach(&all, || count() > before).await;
            reachable = count();
            if reachable <= before {
                return covered;
            }
            self.lost.clear();
        }
    }

    /// Makes sure that every partition has `ack` sources.
    fn cover(&mut self) -> Result<(), Failure> {
        self.shard.serves(self.keyspace)?;
        let placement = self.shard.placement();
        let placed = placement
            .keyspace(self.keyspace)
            .ok_or(Failure::UnknownKeyspace)?;
        for partition in 0..placed.partition_count() {
            for replica in self.missing_sources(placed, partition)? {
                self.sources.entry(replica).or_insert_with(|| Source {
                    stream: Stream::default(),
                    start: self.position.clone(),
                    epoch: placement.read_epoch(),
                    step: placement.step(),
                });
            }
        }
        self.is_covered = true;
        Ok(())
    }

    fn missing_sources(
        &self,
        placed: &KeyspacePlacement,
        partition: u16,
    ) -> Result<Vec<ShardAddress>, Failure> {
        let replicas = placed.replicas(partition, self.quorum.from);
        let need = self.quorum.ack as usize;
        let step = self.shard.placement().step();
        let usable =
            |r: &ShardAddress| !self.lost.contains(&(*r, step)) && self.shard.is_reachable(*r);
        let have = replicas
            .iter()
            .filter(|r| self.sources.contains_key(*r))
            .count();
        let order = try_order(replicas, self.shard.address(), 0, |r| usable(&r));
        let more: Vec<ShardAddress> = order
            .into_iter()
            .filter(|r| usable(r) && !self.sources.contains_key(r))
            .take(need.saturating_sub(have))
            .collect();
        if have + more.len() < need {
            return Err(Failure::NotEnoughReplicas {
                got: (have + more.len()) as u8,
                need: self.quorum.ack,
            });
        }
        Ok(more)
    }

    /// The next visible records, at least one; empty when the range is at its end.
    ///
    /// # Errors
    /// When replicas were lost and too few are left, or the clock may be wrong that tells what has
    /// expired.
    pub async fn next_page(&mut self) -> Result<Vec<Item>, Failure> {
        let mut page = Vec::new();
        loop {
            self.feed().await?;
            let mut streams: Vec<&mut Stream> =
                self.sources.values_mut().map(|s| &mut s.stream).collect();
            let mut bytes = 0;
            while let Some(item) = merge::next(&mut streams) {
                self.position = after(&item.key);
                if self.shard.shows(&item)? {
                    bytes += item.key.len() + item.value.len();
                    page.push(item);
                }
                if bytes >= PAGE_BYTES {
                    return Ok(page);
                }
            }
            let ended = streams.iter().all(|s| s.ended && s.items.is_empty());
            if ended || !page.is_empty() {
                return Ok(page);
            }
        }
    }

    /// Bytes of the records that it holds.
    pub fn held_bytes(&self) -> usize {
        let items = self.sources.values().flat_map(|s| &s.stream.items);
        items.map(|item| item.key.len() + item.value.len()).sum()
    }

    /// Fetches a page for every source that has run dry, all at once.
    async fn feed(&mut self) -> Result<(), Failure> {
        self.shard.serves(self.keyspace)?;
        if !self.is_covered {
            self.cover_patiently().await?;
        }
        loop {
            let dry: Vec<(ShardAddress, ScanRequest)> = self
                .sources
                .iter()
                .filter(|(_, s)| s.stream.items.is_empty() && !s.stream.ended)
                .map(|(address, s)| {
                    let request = ScanRequest {
                        keyspace: self.keyspace,
                        start: s.start.clone(),
                        end: self.end.clone(),
                        max_items: PAGE_ITEMS as u32,
                        epoch: s.epoch,
                    };
                    (*address, request)
                })
                .collect();
            if dry.is_empty() {
                return Ok(());
            }
            let coordinator = self.coordinator.clone();
            let answers = join_all(dry.into_iter().map(|(address, request)| {
                let coordinator = coordinator.clone();
                async move { (address, coordinator.scan_at(address, request).await) }
            }))
            .await;
            let mut lost = false;
            for (address, page) in answers {
                match (page, self.sources.get_mut(&address)) {
                    (Some(page), Some(source)) => {
                        source.stream.items.extend(page.items);
                        match page.next {
                            Some(next) => source.start = next,
                            None => source.stream.ended = true,
                        }
                    }
                    _ => {
                        if let Some(source) = self.sources.remove(&address) {
                            self.lost.push((address, source.step));
                        }
                        lost = true;
                    }
                }
            }
            if lost {
                // Another replica takes over from the key reached so far.
                self.cover_patiently().await?;
            }
        }
    }
}

impl Coordinator {
    async fn scan_at(self: Rc<Self>, address: ShardAddress, request: ScanRequest) -> Option<Page> {
        if address == self.shard.address() {
            return self.serve_scan(request).await;
        }
        let peer = self.shard.peer(address)?;
        let answer = self.call(&peer, Request::Scan(request), PAGE_TIMEOUT).await;
        match answer {
            Ok(Response::Page(page)) => Some(page),
            _ => None,
        }
    }

    /// One page of all of a keyspace held here, in key order, read off the event loop.
    pub(crate) async fn serve_scan(self: Rc<Self>, request: ScanRequest) -> Option<Page> {
        let placement = self.shard.placement();
        let keyspace = placement.keyspace(request.keyspace)?;
        // What the asker counts on may have been dropped here: it is to choose again.
        if !self.shard.answers()
            || request.epoch < placement.oldest_epoch()
            || self.shard.is_dropped(request.keyspace)
        {
            return None;
        }
        // Partitions given away may still lie here, but are no longer kept up to date.
        let held: Vec<u16> = (0..keyspace.partition_count())
            .filter(|partition| keyspace.shows(self.shard.address(), *partition))
            .collect();
        let items = (request.max_items as usize).min(PAGE_ITEMS);
        let mut place = Place {
            keyspace: request.keyspace,
            partitions: held,
            start: request.start,
            end: request.end,
        };
        let walks = self.walks.clone();
        let now = Instant::now();
        self.shard
            .read_page(move |store| {
                let taken = lock(&walks).take(&place);
                let (mut walk, begun) = match taken.filter(|(walk, _)| walk.is_current()) {
                    Some(kept) => kept,
                    None => (begin(store, &place)?, now),
                };
                let page = walk.page(items, PAGE_BYTES)?;
                if let Some(next) = &page.next {
                    place.start = next.clone();
                    let bytes = walk.held_bytes();
                    let gone = lock(&walks).keep(place, walk, bytes, begun, now);
                    drop(gone);
                }
                Ok(page)
            })
            .await
    }

    /// Gives up walks that nobody has gone on with for long.
    pub(super) fn expire_walks(&self, now: Instant) {
        let old = lock(&self.walks).expire(now);
        if !old.is_empty() {
            let runner = self.shard.env().store_runner.clone();
            // Files that only they held are removed with them.
            tokio::task::spawn_local(async move { runner.run_behind(move || drop(old)).await });
        }
    }
}

fn begin(store: &Store, place: &Place) -> Result<Merge, StoreError> {
    let start = Bound::Included(&place.start[..]);
    let end = match &place.end {
        Some(end) => Bound::Excluded(&end[..]),
        None => Bound::Unbounded,
    };
    store.merge(place.keyspace, Some(&place.partitions), start, end)
}

fn lock(walks: &Mutex<Walks<Merge>>) -> MutexGuard<'_, Walks<Merge>> {
    walks.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The smallest key above `key`.
fn after(key: &[u8]) -> Bytes {
    let mut next = Vec::with_capacity(key.len() + 1);
    next.extend_from_slice(key);
    next.push(0);
    next.into()
}
