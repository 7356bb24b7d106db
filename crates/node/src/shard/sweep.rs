//! Periodic duties: overdue writes, interval syncs, followers' rates.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use dunlin_metadata::Sync;
use dunlin_proto::WriteAnswer;
use tokio::time::Instant;

use super::Shard;
use crate::doors::Doors;
use crate::limits::SWEEP_INTERVAL;

/// What a shard has said of its queues; taken back when it ends.
struct Queued {
    doors: Arc<Doors>,
    bytes: usize,
}

impl Queued {
    fn set(&mut self, bytes: usize) {
        self.doors.queued(self.bytes, bytes);
        self.bytes = bytes;
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.set(0);
    }
}

impl Shard {
    /// Gives up on overdue writes and updates rates, for as long as the shard runs.
    pub(super) async fn sweep_loop(self: Rc<Self>) {
        let mut queued_bytes = Queued {
            doors: self.front.doors.clone(),
            bytes: 0,
        };
        loop {
            tokio::time::sleep(SWEEP_INTERVAL).await;
            let now = Instant::now();
            let overdue = self.acks.borrow_mut().expire(|w| w.deadline <= now);
            for (got, write) in overdue {
                (write.done)(WriteAnswer::NotEnough { got });
            }
            self.latency.tick(now);
            queued_bytes.set(self.queued_bytes());
            for peer in self.peers.borrow().values() {
                peer.gauge.tick(now);
                peer.aside.close_idle(now);
            }
        }
    }

    /// Bytes that wait here: to be written to the log, and to be sent to other shards.
    pub(super) fn queued_bytes(&self) -> usize {
        let peers = self.peers.borrow();
        let to_others: u64 = peers.values().map(|p| p.stats().queued_bytes).sum();
        self.log.pending_bytes() + to_others as usize
    }

    /// Syncs what keyspaces with an interval policy have written.
    pub(super) async fn interval_sync_loop(self: Rc<Self>) {
        loop {
            let shortest = self
                .placement()
                .keyspaces()
                .filter_map(|k| match k.keyspace.settings.sync {
                    Sync::IntervalMs(ms) => Some(u64::from(ms)),
                    _ => None,
                })
                .min();
            // Without such a keyspace, look again in a second: one may be created.
            tokio::time::sleep(Duration::from_millis(shortest.unwrap_or(1_000))).await;
            let progress = self.log.progress();
            if shortest.is_some() && progress.written > progress.synced {
                self.log.request_sync();
            }
        }
    }
}
