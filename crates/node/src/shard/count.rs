//! How many keys this shard holds, counted for users who ask how it is.

use std::sync::Arc;

use dunlin_store::Counted;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use super::Shard;
use crate::limits::{COUNT_REST, COUNT_TIMEOUT};

/// The last count; whoever counts holds it.
pub(super) type Counting = Arc<Mutex<Option<Last>>>;

/// What a count came to, and when it was asked for.
pub(super) struct Last {
    counted: Option<Counted>,
    at: Instant,
}

impl Shard {
    /// Counts, or says what a count of less than a second ago came to. `None` when it takes too
    /// long, as on a disk that hangs.
    pub(super) async fn count_keys(&self) -> Option<Counted> {
        timeout(COUNT_TIMEOUT, self.count_in_turn()).await.ok()?
    }

    /// Off the event loop, one at a time. What is dropped is no longer there, though its data is
    /// kept for a while.
    async fn count_in_turn(&self) -> Option<Counted> {
        let mut turn = self.counting.clone().lock_owned().await;
        let at = Instant::now();
        if let Some(last) = turn.as_ref().filter(|last| at < last.at + COUNT_REST) {
            return last.counted;
        }
        let store = self.store.clone();
        let placement = self.placement();
        let ids = placement.keyspaces().map(|placed| placed.keyspace.id);
        let served: Vec<u32> = ids.filter(|id| !self.is_dropped(*id)).collect();
        // It ends though nobody waits for it any more, and keeps its turn until then.
        let count = move || {
            // Damage is told by reads.
            let counted = store.count_keys(&served).ok();
            *turn = Some(Last { counted, at });
            counted
        };
        self.env.store_runner.run(count).await.ok()?
    }
}

#[cfg(test)]
#[path = "count_tests.rs"]
mod tests;
