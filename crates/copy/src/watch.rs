//! What a copy has done so far, for whoever watches, and their wish to stop it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::CopyError;

/// Counts, the units under way, and what happened. Shared between the copy and its watchers.
#[derive(Debug, Default)]
pub struct Watch {
    pairs: AtomicU64,
    bytes: AtomicU64,
    wire_bytes: AtomicU64,
    retries: AtomicU64,
    stop: AtomicBool,
    units: Mutex<Units>,
    notices: Mutex<Vec<String>>,
}

/// How far the units are.
#[derive(Debug, Clone, Default)]
pub struct Units {
    /// How many the plan has.
    pub total: usize,
    /// How many are done, those of earlier runs too.
    pub done: usize,
    /// How many were done before this run.
    pub done_before: usize,
    /// About how many bytes on disk all of them are.
    pub total_size_bytes: u64,
    /// About how many of those are done.
    pub done_size_bytes: u64,
    /// About how many were done before this run.
    pub done_before_size_bytes: u64,
    /// For each connection the unit it carries: its name, size on disk, and bytes sent of it.
    pub running: Vec<Option<(String, u64, u64)>>,
    /// How many units were compared with the target, once all of them are there.
    pub compared: Option<usize>,
}

impl Watch {
    /// Pairs sent, those that had to be sent again too.
    pub fn pairs(&self) -> u64 {
        self.pairs.load(Ordering::Relaxed)
    }

    /// Bytes of keys and values, or of files, sent.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Bytes sent over connections, compressed.
    pub fn wire_bytes(&self) -> u64 {
        self.wire_bytes.load(Ordering::Relaxed)
    }

    /// Units that were begun again.
    pub fn retries(&self) -> u64 {
        self.retries.load(Ordering::Relaxed)
    }

    /// How far the units are.
    pub fn units(&self) -> Units {
        self.lock().clone()
    }

    /// What happened since the last call, a line each.
    pub fn notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks the copy to end; what is done is kept.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(crate) fn check(&self) -> Result<(), CopyError> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(CopyError::Interrupted),
            false => Ok(()),
        }
    }

    pub(crate) fn notice(&self, line: String) {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        notices.push(line);
    }

    pub(crate) fn sent(&self, connection: usize, pairs: u64, bytes: u64, wire_bytes: u64) {
        self.pairs.fetch_add(pairs, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.wire_bytes.fetch_add(wire_bytes, Ordering::Relaxed);
        if let Some(Some((_, _, sent))) = self.lock().running.get_mut(connection) {
            *sent += bytes;
        }
    }

    pub(crate) fn retry(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    /// A connection has brought a unit of this size on disk to its end.
    pub(crate) fn finished(&self, connection: usize, size_bytes: u64) {
        let mut units = self.lock();
        units.done += 1;
        units.done_size_bytes += size_bytes;
        if let Some(slot) = units.running.get_mut(connection) {
            *slot = None;
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Units> {
        self.units.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
