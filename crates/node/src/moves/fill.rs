//! The rounds in which this shard takes over: stored records, and in between and then in rounds what the
//! old replicas' logs have had since.

use std::rc::Rc;

use dunlin_entry::Vector;
use dunlin_metadata::{Change, Phase};
use dunlin_proto::{Place, ShardAddress};
use tokio::time::Instant;

use super::Moves;
use super::books::Fill;
use super::journal::Journal;
use super::plan::{self, Part};
use crate::limits::MOVE_INTERVAL;
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
                if let Err(error) = self.shard.cover_read().await {
                    tracing::warn!(error, "the log serves less than it could");
                }
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
        loop {
            let parts = self.parts_within_reach();
            if parts.is_empty() {
                break;
            }
            if self.are_tails_due() {
                self.read_tails_beside().await?;
            }
            self.fill_parts(change.id, parts).await?;
            // What was found to have another log is copied from its beginning.
            self.open_books(change).await?;
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
            self.read_tail(&peer, usize::MAX).await?;
        }
        if !sources.is_empty() {
            self.shard.sync_log_to(self.shard.log_last()).await?;
        }
        if !sources.is_empty() && self.are_tails_due() {
            self.keep_places().await?;
            self.tails_read.set(Some(Instant::now()));
        }
        self.claim(change).await?;
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
        if is_caught_up && !self.fill.borrow().caught_up {
            self.arrived().await?;
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
        self.shard.sync_log_to(self.shard.log_last()).await
    }

    /// Begins the books of a change, or goes on with those of the journal.
    async fn open_books(&self, change: &Change) -> Result<(), String> {
        let parts = plan::parts(&self.shard.placement(), self.shard.address());
        if self.fill.borrow().change != change.id {
            let journal = Journal::load(&*self.shard.env().disk, &self.shard.dir());
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
        let is_whole = change.phase > Phase::Joint || self.fill.borrow().caught_up;
        if is_whole {
            return Ok(());
        }
        // The vector says nothing of what was written before these are here.
        let places = parts.iter().map(|p| p.place).collect();
        self.shard.uncover(places).await
    }

    /// What was taken over is here: all there was when the joint phase began, out of the logs of those who
    /// had it, and all since by the writers' own streams.
    async fn arrived(&self) -> Result<(), String> {
        let (places, ends) = {
            let fill = self.fill.borrow();
            let parts = fill.sources.values().flat_map(|source| source.parts.keys());
            let ends = fill
                .sources
                .values()
                .filter_map(|source| source.end.as_ref());
            let ends: Vector = ends.flat_map(Vector::iter).collect();
            (parts.copied().collect(), ends)
        };
        self.shard.cover(places, Some(&ends)).await
    }

    fn unfinished_parts(&self) -> Vec<(ShardAddress, Place)> {
        let parts = plan::parts(&self.shard.placement(), self.shard.address());
        let fill = self.fill.borrow();
        let is_unfinished = |part: &&Part| {
            let source = fill.sources.get(&part.source);
            let progress = source.and_then(|source| source.parts.get(&part.place));
            progress.is_none_or(|progress| progress.next.is_some())
        };
        parts
            .iter()
            .filter(is_unfinished)
            .map(|part| (part.source, part.place))
            .collect()
    }

    /// What is not copied yet and can be now.
    fn parts_within_reach(&self) -> Vec<(Rc<Peer>, Place)> {
        let unfinished = self.unfinished_parts().into_iter();
        let with_peers =
            unfinished.filter_map(|(address, place)| Some((self.shard.peer(address)?, place)));
        with_peers
            .filter(|(peer, _)| peer.caller.is_connected())
            .collect()
    }
}
