//! Memtable to disk, and what may be forgotten after it: log segments, tombstones.

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use dunlin_entry::{Entry, Vector, Version};
use dunlin_log::Index;
use dunlin_store::{Store, StoreError};
use tokio::time::Instant;

use super::Shard;
use crate::clock::Clock;
use crate::fence::Trust;
use crate::follow::{Caps, Segment, released};
use crate::limits::{FLUSH_INTERVAL, FORGET_AFTER, KNOWN_FOR};
use crate::placement::Placement;
use crate::replication::address_of;
use crate::sabotage::Sabotage;

/// Grace periods by keyspace, read by the store's compactions on their own threads.
#[derive(Clone)]
pub(super) struct GraceTable {
    clock: Arc<dyn Clock>,
    /// Deletes stamped earlier than this (milliseconds since 1970) are known to
    /// every replica, and nothing older than they are is still on its way here.
    known_ms: Arc<AtomicU64>,
    /// When that was said, by the clock.
    said_ms: Arc<AtomicU64>,
    /// Whether the clock may decide what is old.
    trusted: Arc<AtomicBool>,
    by_keyspace: Arc<RwLock<HashMap<u32, Duration>>>,
}

impl GraceTable {
    pub fn new(clock: Arc<dyn Clock>) -> GraceTable {
        GraceTable {
            clock,
            known_ms: Arc::default(),
            said_ms: Arc::default(),
            trusted: Arc::default(),
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

    pub fn set_trusted(&self, trusted: bool) {
        self.trusted.store(trusted, Ordering::Relaxed);
    }

    pub fn set_known(&self, known: Option<Version>) {
        let known_ms = known.map_or(0, Version::millis);
        self.said_ms.store(self.clock.now_ms(), Ordering::Relaxed);
        self.known_ms.store(known_ms, Ordering::Relaxed);
    }

    /// How old a tombstone must be to be forgotten; `None` while none may be.
    pub fn grace(&self, keyspace: u32) -> Option<Duration> {
        if !self.trusted.load(Ordering::Relaxed) {
            return None;
        }
        let known_ms = self.known_ms.load(Ordering::Relaxed);
        if known_ms == 0 {
            return None;
        }
        let now_ms = self.clock.now_ms();
        let said_age_ms = now_ms.saturating_sub(self.said_ms.load(Ordering::Relaxed));
        if u128::from(said_age_ms) > KNOWN_FOR.as_millis() {
            // It is said again and again: the clock was set forward, and has yet to be compared.
            return None;
        }
        let known_age_ms = now_ms.saturating_sub(known_ms);
        let table = self
            .by_keyspace
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let grace = table.get(&keyspace)?;
        // A clock that was set forward since must not make younger deletes old enough.
        Some(Duration::from_millis(known_age_ms).max(*grace))
    }
}

/// The oldest of what a restart would apply again. A delete that is newer than that must not be
/// forgotten: what it deleted would be back.
#[derive(Default)]
pub(super) struct Unflushed {
    /// Among what was applied since the last flush began.
    waiting: Cell<Option<Version>>,
    /// Among what is being flushed.
    flushing: Cell<Option<Version>>,
    flushes: Cell<u64>,
}

impl Unflushed {
    /// Entries have been applied.
    pub fn applied(&self, entries: &[Entry]) {
        // That a value is over keeps the value's old stamp, and brings back no more than that.
        let lasting = entries.iter().filter(|entry| !entry.is_expiry);
        let versions = lasting.map(|entry| entry.stamp.version);
        self.waiting.set(versions.chain(self.waiting.get()).min());
    }

    /// A flush of all that has been applied has begun; answers its number.
    fn begun(&self) -> u64 {
        let both = self.waiting.take().into_iter().chain(self.flushing.get());
        self.flushing.set(both.min());
        self.flushes.set(self.flushes.get() + 1);
        self.flushes.get()
    }

    /// The flush of this number is on disk.
    fn done(&self, number: u64) {
        if self.flushes.get() == number {
            self.flushing.set(None);
        }
    }

    fn oldest(&self) -> Option<Version> {
        let both = self.waiting.get().into_iter().chain(self.flushing.get());
        both.min()
    }
}

/// Why the last flush failed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FlushFailed {
    /// What is wrong and what to do, in one line.
    pub line: String,
    /// Whether the store takes no writes until that is done.
    pub refuses: bool,
}

impl FlushFailed {
    /// By what the flush said, and what the store says to writes.
    fn of(error: String, check: Result<(), StoreError>) -> FlushFailed {
        let refuses = check.is_err();
        let line = match check {
            Err(StoreError::NoSpace { .. }) => {
                "no space left for the store: make room on its disk".to_owned()
            }
            Err(StoreError::Io { detail }) => {
                format!("its disk failed: {detail}; restart the node once it works")
            }
            Err(other) => other.to_string(),
            Ok(()) => error,
        };
        FlushFailed { line, refuses }
    }
}

impl Shard {
    /// Flushes when memory or the log has grown enough, and releases what nobody needs.
    pub(super) async fn flush_loop(self: Rc<Self>) {
        loop {
            self.backlog.flush_due(FLUSH_INTERVAL).await;
            let unflushed_segments = self.unflushed_bytes();
            let due = self.store.memtable_bytes() >= self.config.flush_bytes as u64
                || unflushed_segments >= 4 * self.config.flush_bytes as u64;
            let flushed = if due || self.flush_failed.borrow().is_some() {
                self.flush().await
            } else {
                self.store.check().map_err(|error| error.to_string())
            };
            self.note_flushed(flushed.err());
            self.seal_own();
            let known = self.note_forgetting(self.deletes_known()).await;
            self.grace.set_known(known);
            self.release_log();
        }
    }

    /// Takes note of how a flush ended: one that failed counts until one succeeds.
    fn note_flushed(&self, error: Option<String>) {
        let failed = error.map(|error| FlushFailed::of(error, self.store.check()));
        if *self.flush_failed.borrow() == failed {
            return;
        }
        match &failed {
            Some(failed) => {
                tracing::warn!(error = failed.line, "flush failed; trying again");
            }
            None => tracing::info!("the store is flushed again"),
        }
        self.flush_failed.replace(failed);
    }

    /// What is wrong when the store is not brought to disk but still takes writes.
    pub(crate) fn flush_told(&self) -> Option<String> {
        let failed = self.flush_failed.borrow();
        let failed = failed.as_ref().filter(|failed| !failed.refuses)?;
        Some(format!(
            "the store of shard {} is not brought to disk: {}",
            self.label(),
            failed.line
        ))
    }

    /// Brings everything applied so far to disk, the log first: the store must
    /// never hold an entry that the log could lose.
    pub(crate) async fn flush(&self) -> Result<(), String> {
        self.note_strays().await?;
        // Most of it now, so that applying need not wait for it.
        self.sync_applied().await?;
        let pause = self.pause_applying();
        let synced = self.sync_applied().await;
        let begun = synced.and_then(|()| self.begin_flush().map_err(|e| e.to_string()));
        let number = begun.map(|()| self.unflushed.begun());
        drop(pause);
        let number = number?;
        self.backlog.began();
        self.counters.flushes.set(self.counters.flushes.get() + 1);
        self.store_behind(Store::flush_wait).await?;
        self.unflushed.done(number);
        Ok(())
    }

    async fn sync_applied(&self) -> Result<(), String> {
        match self.env.sabotage {
            Sabotage::FlushUnsynced => Ok(()),
            _ => self.sync_log_to(self.store.applied()).await,
        }
    }

    fn begin_flush(&self) -> Result<(), StoreError> {
        self.store.flush_begin()?;
        if !self.env.store_background {
            self.store.flush_wait()?;
        }
        Ok(())
    }

    /// Rewrites all SST files, forgetting overwritten records and what has outlived its grace.
    /// Applying waits meanwhile: a compaction flushes memory, too, which the log must be ahead of.
    ///
    /// # Errors
    /// When log or store refuse.
    pub async fn compact(&self) -> Result<(), String> {
        let pause = self.pause_applying();
        self.sync_log_to(self.store.applied()).await?;
        let (store, runner) = (self.store.clone(), self.env.store_runner.clone());
        // Whoever waits may give up; what has begun goes on.
        let compacting = tokio::task::spawn_local(async move {
            let done = runner.run_behind(move || store.compact()).await;
            drop(pause);
            done
        });
        let gone = |error: &dyn std::fmt::Display| error.to_string();
        let done = compacting.await.map_err(|error| gone(&error))?;
        let done = done.map_err(|error| gone(&error))?;
        done.map_err(|error| gone(&error))
    }

    pub(crate) async fn sync_log_to(&self, index: Index) -> Result<(), String> {
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

    /// Lets go of segments that are flushed and that nobody needs, or that pass the byte caps.
    fn release_log(&self) {
        let flushed = self.store.flushed_applied();
        let segments = self.log.segments();
        let is_changing = self.placement().change.is_some();
        let is_needed = |number: usize| {
            let next = segments.get(number + 1);
            let vector = next.and_then(|next| vector_of(&next.preamble));
            is_changing || vector.is_none_or(|v| !self.everyone_has(&v))
        };
        let sizes: Vec<Segment> = segments.iter().map(Segment::of).collect();
        let caps = Caps {
            retention_bytes: self.config.retention_bytes,
            pins_bytes: self.config.pins_bytes,
        };
        let mut least: Option<Index> = None;
        for kept in self.retentions() {
            if let Some(first) = kept.most {
                self.pins.bound(kept.keyspace.id, first);
            }
            least = least.into_iter().chain(kept.least).min();
        }
        let pinned = self.pins.least(Instant::now());
        if let Some(before) = released(&sizes, flushed, least, pinned, caps, is_needed) {
            self.pins.cut(before);
            self.log.release(before);
        }
    }

    /// Whether every replica of anything here has what the vector names.
    fn everyone_has(&self, vector: &Vector) -> bool {
        let placement = self.placement();
        let peers = self.peers.borrow();
        peers.values().filter(|p| p.shares.get()).all(|peer| {
            vector.iter().all(|(origin, version)| {
                let writer = address_of(origin);
                // What a node wrote that shares nothing with the peer any more, or is gone, the
                // peer is not told of; what it does not send here, the peer has from itself.
                let concerns = writer == self.address
                    || placement.share(self.address, writer)
                        && placement.share(peer.address, writer);
                !concerns || peer.has(origin, version)
            })
        })
    }

    /// Up to which version every replica has seen every delete and this shard every write, so that
    /// a grace period is all that keeps a tombstone.
    ///
    /// A replica that has seen a delete stamps only newer writes from then on, so all older writes
    /// are in the vector it tells afterwards: once those are here, nothing older can come.
    pub(super) fn deletes_known(&self) -> Option<Version> {
        let known = self.known_before()?;
        let replayed = self.unflushed.oldest().map(|oldest| {
            let before_ms = oldest.millis().saturating_sub(1);
            Version::new(before_ms, 0)
        });
        Some(replayed.map_or(known, |replayed| known.min(replayed)))
    }

    /// Up to which version every replica has seen all that this shard's keyspaces have had, and this shard has.
    pub(crate) fn known_before(&self) -> Option<Version> {
        // By a clock that was set forward since it was compared all is old, and known to be.
        self.stalls.observe();
        if self.trust() != Trust::Trusted {
            return None;
        }
        let grown_old = self
            .clock
            .now_ms()
            .checked_sub(FORGET_AFTER.as_millis() as u64)?;
        let horizon = Version::new(grown_old, 0);
        let placement = self.placement();
        if !self.answers() {
            // What is here may be what a forgotten delete has removed from all others.
            return None;
        }
        if placement.change.is_some() {
            // Who joins has not seen them all, and is no peer yet.
            return None;
        }
        let peers = self.peers.borrow();
        let sharing: Vec<_> = peers.values().filter(|p| p.shares.get()).collect();
        let mine = self.vector.borrow();
        if !sharing.iter().all(|peer| peer.heard.get()) {
            return None;
        }
        let told = sharing.iter().map(|peer| {
            let named: Vec<_> = peer.vector.borrow().iter().collect();
            (peer.address, named.into_iter())
        });
        let own: Vec<_> = mine.iter().collect();
        let mut newest = placement.vouched_for(told.chain([(self.address, own.into_iter())]));
        // Repairs bring deletes that the vector does not name.
        newest.merge(&self.copies.pending());
        let meant = |holder, origin| placement.vouches(holder, address_of(origin));
        let known = newest.iter().all(|(origin, version)| {
            let due = version.min(horizon);
            (!meant(self.address, origin) || mine.get(origin) >= due)
                && sharing
                    .iter()
                    .all(|peer| !meant(peer.address, origin) || peer.has(origin, due))
        });
        known.then_some(horizon)
    }
}

/// The vector a segment begins with.
pub(crate) fn vector_of(preamble: &bytes::Bytes) -> Option<Vector> {
    let entry = Entry::decode(preamble.clone()).ok()?;
    Vector::decode(&entry.value).ok()
}

#[cfg(test)]
#[path = "flush_tests.rs"]
mod tests;
