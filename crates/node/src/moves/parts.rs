//! Stored records of what this shard takes over, by pages. Several partitions are copied at once: pages of
//! some are asked for while what came of others is written into files, and taken over by the store.

use std::cell::Cell;
use std::rc::Rc;

use bytes::Bytes;
use dunlin_proto::{FillPage, FillRequest, Froms, Place, Request, Response, Run, ShardAddress};
use futures_util::StreamExt;
use futures_util::future::join;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::Instant;

use super::Moves;
use super::journal::Journal;
use crate::limits::{CHUNKS_WAITING, PARTS_AT_ONCE};
use crate::replication::copy_of;
use crate::sabotage::Sabotage;
use crate::shard::{Pages, Peer, Sorted};

/// Records of a partition that are to be put on disk.
struct Chunk {
    source: ShardAddress,
    place: Place,
    sorted: Option<Sorted>,
    records: u64,
    /// All before it is here once these are.
    next: Option<Bytes>,
}

/// Pages that have come and are not stored.
#[derive(Default)]
struct Got {
    runs: Vec<Run>,
    bytes: usize,
    /// Where those behind them begin; `None` where there are none.
    next: Option<Bytes>,
}

impl Got {
    fn take(&mut self, page: FillPage) {
        self.bytes += page.run.size_bytes();
        self.runs.push(page.run);
        self.next = page.next;
    }
}

impl Moves {
    /// Copies on until all is copied or the tails are due: then no page is asked for, and none waits to be
    /// stored (decision 35).
    pub(super) async fn fill_parts(
        &self,
        change: u64,
        parts: Vec<(Rc<Peer>, Place)>,
    ) -> Result<(), String> {
        for (peer, _) in &parts {
            self.begin_source(peer).await?;
        }
        self.paced.set(Instant::now());
        let (chunks, waiting) = channel(CHUNKS_WAITING);
        let read = self.read_parts(change, parts, chunks);
        let (read, stored) = join(read, self.store_chunks(waiting)).await;
        stored.and(read)
    }

    async fn read_parts(
        &self,
        change: u64,
        parts: Vec<(Rc<Peer>, Place)>,
        chunks: Sender<Chunk>,
    ) -> Result<(), String> {
        let is_over = Cell::new(false);
        let mut waiting = parts.into_iter();
        let mut under_way = FuturesUnordered::new();
        let mut outcome = Ok(());
        let begin = |(peer, place)| self.read_part(change, peer, place, chunks.clone(), &is_over);
        // At least these: else nothing would be copied where tails are always due.
        under_way.extend(waiting.by_ref().take(PARTS_AT_ONCE).map(begin));
        while let Some(ended) = under_way.next().await {
            if ended.is_err() {
                is_over.set(true);
                outcome = outcome.and(ended);
            }
            if !is_over.get() && !self.are_tails_due() {
                under_way.extend(waiting.next().map(begin));
            }
        }
        outcome
    }

    /// Asks for pages of one partition until all are there, the tails are due, or it is over for another
    /// reason; for one at least.
    async fn read_part(
        &self,
        change: u64,
        peer: Rc<Peer>,
        place: Place,
        chunks: Sender<Chunk>,
        is_over: &Cell<bool>,
    ) -> Result<(), String> {
        let Some((froms, Some(start))) = self.progress(peer.address, place) else {
            return Ok(());
        };
        let ask = |start| {
            Request::Fill(FillRequest {
                place,
                froms,
                start,
            })
        };
        let mut pages = Pages::new(&peer, start, ask);
        let mut got = Got::default();
        let outcome = loop {
            let is_full = got.bytes >= self.shard.config().copy_steps.chunk_bytes;
            let ready = is_full.then(|| std::mem::take(&mut got));
            let send = async {
                match ready {
                    Some(got) => self.send(peer.address, place, got, &chunks).await,
                    None => Ok(()),
                }
            };
            let (sent, page) = join(send, pages.next()).await;
            sent?;
            let page = match page {
                Ok(Some(Response::Filled(page))) => page,
                Ok(Some(_)) => break Err("an answer out of turn".to_owned()),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error.to_string()),
            };
            let placement = self.shard.placement();
            if placement.change.as_ref().map(|change| change.id) != Some(change) {
                return Err("the change was given up".to_owned());
            }
            let (read_bytes, latency_us) = (page.read_bytes as usize, page.latency_us_p99);
            got.take(page);
            // What is on its way was read before the tails are, and is stored before.
            if self.shard.env().sabotage == Sabotage::TailAmongPages {
                drop(self.read_tails_beside().await);
            } else if is_over.get() || self.are_tails_due() {
                pages.finish();
            }
            self.keep_pace_together(read_bytes, latency_us).await;
        };
        // What has come need not come again, however it ended.
        if !got.runs.is_empty() {
            self.send(peer.address, place, got, &chunks).await?;
        }
        outcome
    }

    async fn send(
        &self,
        source: ShardAddress,
        place: Place,
        got: Got,
        chunks: &Sender<Chunk>,
    ) -> Result<(), String> {
        let Got { runs, next, .. } = got;
        let records = runs.iter().map(|run| run.count() as u64).sum();
        let copies = move || {
            let items = runs.iter().flat_map(Run::items);
            let copy = |item| copy_of(item, place.keyspace, place.partition);
            items.map(|item| item.map(copy)).collect()
        };
        let chunk = Chunk {
            source,
            place,
            sorted: self.shard.sort_out(copies).await?,
            records,
            next,
        };
        let sent = chunks.send(chunk).await;
        sent.map_err(|_| "what is copied cannot be stored".to_owned())
    }

    /// Puts on disk what comes, as much at once as is there, until no more does. Nothing after what
    /// cannot be: what is noted of a part is all there is of it before a key.
    async fn store_chunks(&self, mut waiting: Receiver<Chunk>) -> Result<(), String> {
        while let Some(first) = waiting.recv().await {
            let mut group = vec![first];
            while let Ok(chunk) = waiting.try_recv() {
                group.push(chunk);
            }
            self.store_group(group).await?;
        }
        Ok(())
    }

    /// Puts chunks on disk and notes that all before the `next` of each is there.
    async fn store_group(&self, mut group: Vec<Chunk>) -> Result<(), String> {
        let sorted = group.iter_mut().filter_map(|chunk| chunk.sorted.take());
        let sorted: Vec<Sorted> = sorted.collect();
        let bytes = sorted.iter().map(|sorted| sorted.bytes).sum();
        self.shard.ingest_all(sorted).await?;
        let moved = &self.shard.counters().moved;
        let journal = {
            let mut fill = self.fill.borrow_mut();
            self.rate.add(bytes);
            fill.bytes += bytes as u64;
            for chunk in group {
                moved.set(moved.get() + chunk.records);
                fill.records += chunk.records;
                let source = fill.sources.get_mut(&chunk.source);
                let progress = source.and_then(|source| source.parts.get_mut(&chunk.place));
                if let Some(progress) = progress {
                    progress.next = chunk.next;
                }
            }
            fill.journal()
        };
        self.write_journal(journal).await
    }

    /// Replaces the journal, off the event loop: it is synced.
    pub(super) async fn write_journal(&self, journal: Journal) -> Result<(), String> {
        let (disk, dir) = (self.shard.env().disk.clone(), self.shard.dir());
        let runner = &self.shard.env().store_runner;
        let stored = runner.run_behind(move || journal.store(&*disk, &dir));
        let stored = stored.await.map_err(|gone| gone.to_string())?;
        stored.map_err(|error| format!("the journal of a copy cannot be written: {error}"))
    }

    fn progress(&self, source: ShardAddress, place: Place) -> Option<(Froms, Option<Bytes>)> {
        let fill = self.fill.borrow();
        let progress = fill.sources.get(&source)?.parts.get(&place)?;
        Some((progress.froms, progress.next.clone()))
    }
}
