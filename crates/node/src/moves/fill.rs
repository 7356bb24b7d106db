//! Copying what this shard takes over: stored records first, then, in rounds, what the old
//! replicas' logs have had since.

use std::rc::Rc;

use bytes::Bytes;
use dunlin_entry::Entry;
use dunlin_metadata::{Change, Phase};
use dunlin_proto::{FillPage, FillRequest, Froms, Place, Request, Response, ShardAddress};
use futures_util::future::join;
use tokio::time::Instant;

use super::Moves;
use super::books::Fill;
use super::journal::Journal;
use super::plan::{self, Part};
use crate::limits::{CHUNK_BYTES, MOVE_INTERVAL, PAGE_TIMEOUT};
use crate::replication::copy_of;
use crate::shard::Peer;

impl Moves {
    /// Does this shard's part in changes of the members for as long as it runs.
    pub(super) async fn move_loop(self: Rc<Self>) {
        loop {
            tokio::time::sleep(MOVE_INTERVAL).await;
            if let Err(error) = self.sweep_due().await {
                tracing::warn!(error, "dropping what others hold failed; trying again");
                continue;
            }
            let Some(change) = self.shard.placement().change.clone() else {
                continue;
            };
            if let Err(error) = self.fill_round(&change).await {
                tracing::debug!(error, change = change.id, "copying interrupted");
            }
        }
    }

    async fn fill_round(self: &Rc<Self>, change: &Change) -> Result<(), String> {
        self.open_books(change).await?;
        match change.phase {
            Phase::Copy | Phase::Joint => {}
            Phase::Switch => {
                let level =
                    self.is_level_with_leavers(change).await && self.shard.all_applied().await;
                self.fill.borrow_mut().level = level;
                return Ok(());
            }
            Phase::Settle => return Ok(()),
        }
        for (address, place) in self.unfinished_parts() {
            if let Some(peer) = self.shard.peer(address)
                && peer.caller.is_connected()
            {
                self.fill_part(change.id, &peer, place).await?;
            }
        }
        if !self.unfinished_parts().is_empty() {
            return Ok(());
        }
        let marks = match change.phase {
            Phase::Joint => self.joint_marks(change).await,
            _ => None,
        };
        let sources: Vec<ShardAddress> = self.fill.borrow().sources.keys().copied().collect();
        for address in &sources {
            let peer = self.shard.peer(*address).ok_or("an old replica is gone")?;
            self.read_tail(&peer).await?;
        }
        if !sources.is_empty() {
            self.shard.sync_log_to(self.shard.log.last()).await?;
        }
        self.claim(change).await;
        let is_level = self.is_level_with_dead(change).await;
        let is_whole = marks
            .as_ref()
            .is_some_and(|marks| self.is_level_with_writers(marks));
        // Vectors name what is logged; reads see what is in the store.
        if !self.shard.all_applied().await {
            return Err("the own log failed".to_owned());
        }
        if self.fill.borrow().change != change.id || self.shard.is_refilling() || !is_level {
            return Ok(());
        }
        let is_caught_up = is_whole && marks.is_some_and(|marks| self.have_sources_all(&marks));
        let is_new = |fill: &Fill| !fill.filled || is_caught_up && !fill.caught_up;
        if is_new(&self.fill.borrow()) {
            self.keep_vector().await?;
        }
        let mut fill = self.fill.borrow_mut();
        if fill.change == change.id && !self.shard.is_refilling() {
            fill.filled = true;
            fill.caught_up = is_caught_up;
        }
        Ok(())
    }

    /// Brings to disk what the vector says in memory: it rises over entries meant for others, too,
    /// and a restart would find it where the last one meant for this shard was logged. By the new
    /// placement those in between may be meant for it, so they would come now, with nothing of the
    /// deletes that all others have seen and forgotten since.
    async fn keep_vector(&self) -> Result<(), String> {
        let all: Vec<_> = self.shard.vector().iter().collect();
        self.shard.log_claim(&all, true);
        self.shard.sync_log_to(self.shard.log.last()).await
    }

    /// Begins the books of a change, or goes on with those of the journal.
    async fn open_books(&self, change: &Change) -> Result<(), String> {
        let parts = plan::parts(&self.shard.placement(), self.shard.address);
        if self.fill.borrow().change != change.id {
            let journal = Journal::load(&*self.shard.env.disk, &self.shard.dir());
            let journal = journal.filter(|journal| journal.change == change.id);
            if !parts.is_empty() {
                tracing::info!(
                    change = change.id,
                    parts = parts.len(),
                    "taking over partitions"
                );
            }
            *self.fill.borrow_mut() = Fill::begin(change.id, journal);
            self.pace.borrow_mut().begin();
        }
        self.fill.borrow_mut().plan(&parts);
        Ok(())
    }

    fn unfinished_parts(&self) -> Vec<(ShardAddress, Place)> {
        let parts = plan::parts(&self.shard.placement(), self.shard.address);
        let fill = self.fill.borrow();
        let is_unfinished = |part: &&Part| {
            let source = fill.sources.get(&part.source);
            let progress = source.and_then(|source| source.parts.get(&part.place));
            progress.is_some_and(|progress| progress.next.is_some())
        };
        parts
            .iter()
            .filter(is_unfinished)
            .map(|part| (part.source, part.place))
            .collect()
    }

    /// Copies the stored records of one partition from one old replica.
    async fn fill_part(
        self: &Rc<Self>,
        change: u64,
        peer: &Rc<Peer>,
        place: Place,
    ) -> Result<(), String> {
        self.begin_source(peer).await?;
        let Some((froms, Some(start))) = self.progress(peer.address, place) else {
            return Ok(());
        };
        let ask = |start| {
            self.page_of(
                peer,
                FillRequest {
                    place,
                    froms,
                    start,
                },
            )
        };
        let mut page = Some(ask(start).await?);
        let mut chunk: Vec<Entry> = Vec::new();
        let mut chunk_bytes = 0;
        let mut begun = Instant::now();
        while let Some(FillPage {
            page: got,
            latency_us_p99,
            read_bytes,
        }) = page.take()
        {
            let now = self
                .shard
                .placement()
                .change
                .as_ref()
                .map(|change| change.id);
            if now != Some(change) {
                return Err("the change was given up".to_owned());
            }
            for item in got.items {
                chunk_bytes += item.key.len() + item.value.len();
                chunk.push(copy_of(item, place.keyspace, place.partition));
            }
            let ready = match chunk_bytes >= CHUNK_BYTES || got.next.is_none() {
                true => Some((std::mem::take(&mut chunk), std::mem::take(&mut chunk_bytes))),
                false => None,
            };
            let store = self.take_chunk(peer.address, place, ready, got.next.clone());
            let (stored, asked) = match got.next {
                Some(next) => {
                    let (stored, asked) = join(store, ask(next)).await;
                    (stored, Some(asked))
                }
                None => (store.await, None),
            };
            stored?;
            page = asked.transpose()?;
            self.keep_pace(read_bytes as usize, begun, latency_us_p99)
                .await;
            begun = Instant::now();
        }
        Ok(())
    }

    async fn page_of(&self, peer: &Peer, request: FillRequest) -> Result<FillPage, String> {
        match peer.caller.call(Request::Fill(request), PAGE_TIMEOUT).await {
            Ok(Response::Filled(page)) => Ok(page),
            Ok(_) => Err("an answer out of turn".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Puts a chunk of records on disk and notes that all before `next` are there.
    async fn take_chunk(
        &self,
        source: ShardAddress,
        place: Place,
        chunk: Option<(Vec<Entry>, usize)>,
        next: Option<Bytes>,
    ) -> Result<(), String> {
        let Some((entries, bytes)) = chunk else {
            return Ok(());
        };
        let records = entries.len() as u64;
        self.shard.ingest(entries).await?;
        self.shard
            .counters
            .moved
            .set(self.shard.counters.moved.get() + records);
        self.rate.add(bytes);
        let journal = {
            let mut fill = self.fill.borrow_mut();
            fill.records += records;
            fill.bytes += bytes as u64;
            let from = fill.sources.get_mut(&source);
            if let Some(progress) = from.and_then(|source| source.parts.get_mut(&place)) {
                progress.next = next;
            }
            fill.journal()
        };
        self.write_journal(&journal)
    }

    pub(super) fn write_journal(&self, journal: &Journal) -> Result<(), String> {
        journal
            .store(&*self.shard.env.disk, &self.shard.dir())
            .map_err(|error| format!("the journal of a copy cannot be written: {error}"))
    }

    fn progress(&self, source: ShardAddress, place: Place) -> Option<(Froms, Option<Bytes>)> {
        let fill = self.fill.borrow();
        let progress = fill.sources.get(&source)?.parts.get(&place)?;
        Some((progress.froms, progress.next.clone()))
    }
}
