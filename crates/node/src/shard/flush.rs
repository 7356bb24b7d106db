//! Memtable to disk, and what may be forgotten after it: log segments, tombstones.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use dunlin_log::Index;
use dunlin_store::{Entry, Vector, Version};

use super::Shard;
use crate::limits::FLUSH_INTERVAL;
use crate::placement::{Placement, ShardAddress};
use crate::sabotage::Sabotage;

/// Grace periods by keyspace, read by the store's compactions on their own threads.
#[derive(Clone)]
pub(super) struct GraceTable {
    safe: Arc<AtomicBool>,
    by_keyspace: Arc<RwLock<HashMap<u32, Duration>>>,
}

impl GraceTable {
    pub fn new(safe: Arc<AtomicBool>) -> GraceTable {
        GraceTable {
            safe,
            by_keyspace: Arc::default(),
        }
    }

    pub fn update(&self, placement: &Placement) {
        let mut table = self
            .by_keyspace
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *table = placement
            .keyspaces()
            .map(|k| {
                let grace = Duration::from_secs(k.keyspace.settings.tombstone_grace_s);
                (k.keyspace.id, grace)
            })
            .collect();
    }

    /// How old a tombstone must be to be forgotten; `None` while none may be.
    pub fn grace(&self, keyspace: u32) -> Option<Duration> {
        if !self.safe.load(Ordering::Relaxed) {
            return None;
        }
        let table = self
            .by_keyspace
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        table.get(&keyspace).copied()
    }
}

impl Shard {
    /// Flushes when memory or the log has grown enough, and releases what nobody needs.
    pub(super) async fn flush_loop(self: Rc<Self>) {
        loop {
            tokio::time::sleep(FLUSH_INTERVAL).await;
            let unflushed_segments = self.unflushed_bytes();
            let due = self.store.memtable_bytes() >= self.config.flush_bytes as u64
                || unflushed_segments >= 4 * self.config.flush_bytes as u64;
            if due && let Err(error) = self.flush().await {
                tracing::warn!(%error, "flush failed; trying again");
            }
            self.purge_safe
                .store(self.everyone_has_seen_deletes(), Ordering::Relaxed);
            self.release_log();
        }
    }

    /// Brings everything applied so far to disk, the log first: the store must
    /// never hold an entry that the log could lose.
    pub(crate) async fn flush(&self) -> Result<(), String> {
        self.pause_applying();
        let synced = match self.env.sabotage {
            Sabotage::FlushUnsynced => Ok(()),
            _ => self.sync_log_to(self.store.applied()).await,
        };
        let begun = synced.and_then(|()| self.store.flush_begin().map_err(|e| e.to_string()));
        self.resume_applying();
        begun?;
        let store = self.store.clone();
        self.counters.flushes.set(self.counters.flushes.get() + 1);
        self.env
            .store_runner
            .run(move || store.flush_wait())
            .await
            .map_err(|e| e.to_string())?
            .map(drop)
            .map_err(|e| e.to_string())
    }

    /// Rewrites all SST files, forgetting overwritten records and what has outlived its grace.
    /// Applying waits meanwhile: a compaction flushes memory, too, which the log must be ahead of.
    ///
    /// # Errors
    /// When log or store refuse.
    pub async fn compact(&self) -> Result<(), String> {
        self.pause_applying();
        let compacted = match self.sync_log_to(self.store.applied()).await {
            Ok(()) => {
                let store = self.store.clone();
                let run = self.env.store_runner.run(move || store.compact()).await;
                match run {
                    Ok(done) => done.map_err(|e| e.to_string()),
                    Err(gone) => Err(gone.to_string()),
                }
            }
            Err(error) => Err(error),
        };
        self.resume_applying();
        compacted
    }

    fn pause_applying(&self) {
        self.apply_pauses.set(self.apply_pauses.get() + 1);
    }

    fn resume_applying(&self) {
        self.apply_pauses.set(self.apply_pauses.get() - 1);
        self.apply_wake.notify_one();
    }

    async fn sync_log_to(&self, index: Index) -> Result<(), String> {
        let mut progress = self.log.progress();
        while progress.synced < index.min(self.log.last()) {
            if let Some(failure) = progress.failed {
                return Err(failure.to_string());
            }
            self.log.request_sync();
            progress = self.log.changed(&progress).await;
        }
        Ok(())
    }

    fn unflushed_bytes(&self) -> u64 {
        let flushed = self.store.flushed_applied();
        self.log
            .segments()
            .iter()
            .filter(|s| s.last_index > flushed)
            .map(|s| s.bytes)
            .sum()
    }

    /// Lets go of segments that are flushed and that no replica needs, or that pass the byte cap.
    fn release_log(&self) {
        let flushed = self.store.flushed_applied();
        let segments = self.log.segments();
        let total: u64 = segments.iter().map(|s| s.bytes).sum();
        let mut excess = total.saturating_sub(self.config.retention_bytes);
        let mut before = None;
        for pair in segments.windows(2) {
            let (segment, next) = (&pair[0], &pair[1]);
            if segment.last_index > flushed {
                break;
            }
            let needed = vector_of(&next.preamble).is_none_or(|v| !self.everyone_has(&v));
            if needed && excess == 0 {
                break;
            }
            excess = excess.saturating_sub(segment.bytes);
            before = Some(next.first_index);
        }
        if let Some(before) = before {
            self.log.release(before);
        }
    }

    /// Whether every replica of anything here has what the vector names.
    fn everyone_has(&self, vector: &Vector) -> bool {
        let peers = self.peers.borrow();
        peers.values().filter(|p| p.shares).all(|peer| {
            vector.iter().all(|(origin, version)| {
                let its_own = ShardAddress {
                    node: origin.node(),
                    shard: origin.shard(),
                } == peer.address;
                its_own || peer.has(origin, version)
            })
        })
    }

    /// Deletes older than a minute, or than anything missing, are known
    /// everywhere: then a grace period is all that keeps a tombstone.
    fn everyone_has_seen_deletes(&self) -> bool {
        let horizon = Version::new(self.clock.now_ms().saturating_sub(60_000), 0);
        let mine: Vec<_> = self.vector.borrow().iter().collect();
        let peers = self.peers.borrow();
        peers.values().filter(|p| p.shares).all(|peer| {
            peer.caller.is_connected()
                && mine
                    .iter()
                    .all(|(origin, version)| peer.has(*origin, (*version).min(horizon)))
        })
    }
}

/// The vector a segment begins with.
pub(crate) fn vector_of(preamble: &bytes::Bytes) -> Option<Vector> {
    let entry = Entry::decode(preamble.clone()).ok()?;
    Vector::decode(&entry.value).ok()
}
