//! Backlog: what happens when more is written than is flushed. Applying waits for the flush under way,
//! and soon the log takes no more either, so that neither memory nor the log grows on.

use std::cell::Cell;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use crate::config::NodeConfig;

/// How much a memtable may take, in flushes: as much again may be under way to the disk.
const MEMTABLE_FLUSHES: u64 = 2;
/// For how long applying may wait before writes are refused.
const PATIENCE: Duration = Duration::from_secs(1);

/// Bytes of applied entries from which on a flush must begin before more are applied.
pub(super) fn memtable_bytes_max(config: &NodeConfig) -> u64 {
    MEMTABLE_FLUSHES * config.flush_bytes as u64
}

/// Who waits for a flush.
#[derive(Default)]
pub(super) struct Backlog {
    /// Since when applying waits.
    full_since: Cell<Option<Instant>>,
    wants_flush: Notify,
    began: Notify,
}

impl Backlog {
    /// The memtable is full.
    pub fn is_full(&self) {
        if self.full_since.get().is_none() {
            self.full_since.set(Some(Instant::now()));
        }
        self.wants_flush.notify_one();
    }

    /// It is not.
    pub fn has_room(&self) {
        self.full_since.set(None);
    }

    /// Whether applying has waited for so long that nothing more should be logged.
    pub fn refuses(&self) -> bool {
        let since = self.full_since.get();
        since.is_some_and(|since| since.elapsed() >= PATIENCE)
    }

    /// Waits until there may be room, and no longer than `most`.
    pub async fn room(&self, most: Duration) {
        // Whichever comes first: it is looked at again.
        drop(timeout(most, self.began.notified()).await);
    }

    /// Waits until a flush is wanted, and no longer than `most`.
    pub async fn flush_due(&self, most: Duration) {
        drop(timeout(most, self.wants_flush.notified()).await);
    }

    /// A flush has begun: there is room.
    pub fn began(&self) {
        self.began.notify_one();
    }
}

#[cfg(test)]
#[path = "backlog_tests.rs"]
mod tests;
