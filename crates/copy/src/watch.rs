//! What a copy has done so far, for whoever watches, and their wish to stop it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::CopyError;
use crate::plan::Unit;

/// Counts, the units under way, and what happened. Shared between the copy and its watchers.
#[derive(Debug, Default)]
pub struct Watch {
    pairs: AtomicU64,
    bytes: AtomicU64,
    wire_bytes: AtomicU64,
    retries: AtomicU64,
    compared_pairs: AtomicU64,
    compared_bytes: AtomicU64,
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
    /// For each connection the unit it carries.
    pub running: Vec<Option<Running>>,
    /// How far comparing with the target is, once nothing is sent any more.
    pub compared: Option<Compared>,
    /// Why nothing comes through at present.
    pub trouble: Option<Trouble>,
}

/// A failure that may go away by itself.
#[derive(Debug, Clone)]
pub struct Trouble {
    /// What failed, one line.
    pub reason: String,
    /// When it is no longer waited for.
    pub until: Instant,
}

/// A unit under way.
#[derive(Debug, Clone)]
pub struct Running {
    /// The range or the file.
    pub unit: Unit,
    /// Bytes sent or compared of it, keys and values or file.
    pub bytes: u64,
}

/// Units that were compared.
#[derive(Debug, Clone, Copy, Default)]
pub struct Compared {
    /// How many.
    pub units: usize,
    /// About how many bytes on disk they are.
    pub size_bytes: u64,
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

    /// Pairs of the source that were compared.
    pub fn compared_pairs(&self) -> u64 {
        self.compared_pairs.load(Ordering::Relaxed)
    }

    /// Their bytes of keys and values.
    pub fn compared_bytes(&self) -> u64 {
        self.compared_bytes.load(Ordering::Relaxed)
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
        if self.stop.load(Ordering::Relaxed) {
            Err(CopyError::Interrupted)
        } else {
            Ok(())
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
        self.came_further(connection, bytes);
    }

    /// A connection has compared so many more pairs of its unit.
    pub(crate) fn looked_at(&self, connection: usize, pairs: u64, bytes: u64) {
        self.compared_pairs.fetch_add(pairs, Ordering::Relaxed);
        self.compared_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.came_further(connection, bytes);
    }

    fn came_further(&self, connection: usize, bytes: u64) {
        let mut units = self.lock();
        units.trouble = None;
        if let Some(Some(running)) = units.running.get_mut(connection) {
            running.bytes += bytes;
        }
    }

    pub(crate) fn retry(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    /// Something failed that is tried again until then. Whoever watches hears of it once, until
    /// something comes through.
    pub(crate) fn failed(&self, error: &CopyError, until: Instant) {
        let reason = error.to_string();
        let left = until.saturating_duration_since(Instant::now()).as_secs();
        let mut units = self.lock();
        if units.trouble.is_none() {
            self.notice(format!("{reason}; trying again for {left} s"));
        }
        units.trouble = Some(Trouble { reason, until });
    }

    /// From now on these units are compared, over so many connections.
    pub(crate) fn comparing(&self, units: &[Unit], connections: usize) {
        let mut progress = self.lock();
        progress.total = units.len();
        progress.total_size_bytes = units.iter().map(Unit::size_bytes).sum();
        progress.running = vec![None; connections];
        progress.compared = Some(Compared::default());
    }

    /// A connection begins a unit, or begins it again.
    pub(crate) fn begun(&self, connection: usize, unit: &Unit) {
        if let Some(slot) = self.lock().running.get_mut(connection) {
            let unit = unit.clone();
            *slot = Some(Running { unit, bytes: 0 });
        }
    }

    /// A connection has compared a unit of this size to its end.
    pub(crate) fn compared(&self, connection: usize, size_bytes: u64) {
        let mut units = self.lock();
        let compared = units.compared.get_or_insert_default();
        compared.units += 1;
        compared.size_bytes += size_bytes;
        if let Some(slot) = units.running.get_mut(connection) {
            *slot = None;
        }
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
