//! Dropping what others hold now, once nobody can ask for it here any more.

use dunlin_metadata::Phase;
use dunlin_proto::{Place, ShardAddress};
use tokio::time::Instant;

use super::Moves;
use super::journal::Journal;
use crate::limits::SWEEP_AFTER;
use crate::placement::Placement;
use crate::shard::is_range_empty;

/// One thing to drop.
struct Drop {
    keyspace: u32,
    partition: u16,
    /// This shard's place among the replicas; `None` when it holds nothing of the partition.
    rank: Option<u8>,
}

impl Moves {
    /// Drops what is no longer held here, when that is due. Where members change it has all been done when
    /// this ends, whatever came meanwhile: what is taken over afterwards would be dropped with it.
    pub(super) async fn sweep_due(&self) -> Result<(), String> {
        while self.sweep_once().await? {}
        Ok(())
    }

    /// Whether a sweep was due and done; another may be by now.
    async fn sweep_once(&self) -> Result<bool, String> {
        let placement = self.shard.placement();
        let due = placement.oldest_epoch();
        let swept = match self.swept.get() {
            Some(swept) => swept,
            None => {
                let swept = self
                    .shard
                    .store()
                    .swept()
                    .map_err(|error| error.to_string())?;
                self.swept.set(Some(swept));
                swept
            }
        };
        if swept >= due {
            return Ok(false);
        }
        // By who is read already, what those are asked for who still act by the phase before would go.
        let phase = placement.change.as_ref().map(|change| change.phase);
        if phase >= Some(Phase::Switch) {
            return Ok(false);
        }
        // Reads and scans that were begun by the members before may still be on their way.
        if placement.change.is_none() && !self.has_rested(SWEEP_AFTER) {
            return Ok(false);
        }
        let before = self.before.borrow_mut().take();
        let before = before.filter(|before| is_all_since(before.changes, swept, due));
        let drops = drops(&placement, before.as_deref(), self.shard.address());
        let places = drops.iter().map(|drop| Place {
            keyspace: drop.keyspace,
            partition: drop.partition,
        });
        self.shard.uncover(places.collect()).await?;
        for drop in drops {
            self.drop_from(&drop).await?;
        }
        self.shard
            .store_behind(move |store| store.note_swept(due))
            .await?;
        self.shard.flush().await?;
        let dir = self.shard.dir();
        Journal::remove(&*self.shard.env().disk, &dir).map_err(|error| error.to_string())?;
        self.swept.set(Some(due));
        Ok(true)
    }

    async fn drop_from(&self, drop: &Drop) -> Result<(), String> {
        let &Drop {
            keyspace,
            partition,
            rank,
        } = drop;
        let dropped = self.shard.store_behind(move |store| {
            if is_range_empty(store, keyspace, partition, b"", None)? {
                return Ok(None);
            }
            if rank.is_none() {
                store.drop_partition(keyspace, partition)?;
            }
            Ok(rank)
        });
        let Some(rank) = dropped.await? else {
            return Ok(());
        };
        let mut start = Some(Vec::new());
        while let Some(from) = start {
            let begun = Instant::now();
            let step = self
                .shard
                .store_behind(move |store| store.thin_partition(keyspace, partition, rank, &from));
            let thinned = step.await?;
            start = thinned.next;
            self.keep_pace(thinned.bytes, begun, 0).await;
        }
        Ok(())
    }
}

/// Whether the change of this number is all there was between the last sweep and the one that is
/// due: what a shard took over in another one, which was given up or ended while it was down, its
/// orders say nothing of.
fn is_all_since(change: u64, swept: u64, due: u64) -> bool {
    change == due && swept.saturating_add(1) == due
}

/// What a shard need not hold. Knowing the placement before spares a look at partitions in which
/// its place has not become worse.
fn drops(now: &Placement, before: Option<&Placement>, shard: ShardAddress) -> Vec<Drop> {
    let mut drops = Vec::new();
    for keyspace in now.keyspaces() {
        let id = keyspace.keyspace.id;
        for partition in 0..keyspace.partition_count() {
            let rank = rank(keyspace.order(partition), shard);
            let could_hold = before.and_then(|b| b.keyspace(id)).map(|keyspace| {
                let (old, new) = keyspace.orders(partition);
                let ranks = [old, new].map(|order| self::rank(order, shard));
                ranks.into_iter().flatten().min()
            });
            let replicas = keyspace.keyspace.settings.replicas;
            let is_needless = match (could_hold, rank) {
                (_, Some(rank)) if rank < replicas => true,
                (Some(could), rank) => match (could, rank) {
                    (None, _) => true,
                    (Some(could), Some(rank)) => could >= rank,
                    (Some(_), None) => false,
                },
                (None, _) => false,
            };
            if !is_needless {
                drops.push(Drop {
                    keyspace: id,
                    partition,
                    rank,
                });
            }
        }
    }
    drops
}

fn rank(order: &[ShardAddress], shard: ShardAddress) -> Option<u8> {
    let at = order.iter().position(|r| *r == shard)?;
    u8::try_from(at).ok()
}

#[cfg(test)]
#[path = "sweep_tests.rs"]
mod tests;
