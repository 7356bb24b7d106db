//! Noted runs of deleted keys are removed, once nobody reads below the deletes.
//!
//! Of a key whose newest version is a delete below the kept versions, each row is removed by its name: rows that are
//! written meanwhile have other names.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use dunlin_entry::Version;
use rocksdb::WriteBatch;

use crate::get::{damaged, decode};
use crate::key;
use crate::store::{Store, StoreError, in_order, write_options};
use crate::worn::{Run, add};

/// A run of which a part was too new is tried again when so much more of it may be old enough, in milliseconds.
const AGAIN_MS: u64 = 10_000;
/// Rows that are removed in one batch.
const BATCH_ROWS: usize = 4_096;
/// So many removed rows are worth a compaction.
const COMPACTED_MIN: usize = 1_000;

impl Store {
    /// Notes a run that a read has passed by, with its oldest and newest delete.
    pub(crate) fn note_worn(
        &self,
        place: u32,
        (from, to): (Vec<u8>, Vec<u8>),
        of: (Version, Version),
    ) {
        let (oldest, newest) = of;
        let run = Run {
            from,
            to,
            newest,
            try_at_ms: oldest.millis() + 1,
        };
        let mut worn = self.worn.lock().unwrap_or_else(PoisonError::into_inner);
        add(worn.entry(place).or_default(), run);
    }

    /// Whether a noted run has deletes that may go.
    pub fn is_worn(&self) -> bool {
        let keep_from_ms = (self.keep_from_ms.lock()).unwrap_or_else(PoisonError::into_inner);
        let worn = self.worn.lock().unwrap_or_else(PoisonError::into_inner);
        worn.iter().any(|(place, runs)| {
            let kept_from_ms = keep_from_ms.get(place);
            runs.iter().any(|run| run.is_due(kept_from_ms))
        })
    }

    /// Removes deletes of noted runs that nobody reads below, and compacts what held them; returns how many rows went.
    /// Waits for the disk.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn clear_worn(&self) -> Result<usize, StoreError> {
        let keep_from_ms = self.kept_from_ms();
        let mut removed = 0;
        for (place, run) in self.take_due(&keep_from_ms) {
            let keep_from_ms = keep_from_ms.get(&place).copied().unwrap_or(0);
            let rows = self.remove_deleted(&run, keep_from_ms)?;
            if rows >= COMPACTED_MIN {
                self.flush()?;
                self.db.compact_range(Some(&run.from), Some(&run.to));
            }
            removed += rows;
            if run.newest.millis() >= keep_from_ms {
                let again = Run {
                    try_at_ms: keep_from_ms + AGAIN_MS,
                    ..run
                };
                let mut worn = self.worn.lock().unwrap_or_else(PoisonError::into_inner);
                add(worn.entry(place).or_default(), again);
            }
        }
        Ok(removed)
    }

    fn take_due(&self, keep_from_ms: &BTreeMap<u32, u64>) -> Vec<(u32, Run)> {
        let mut worn = self.worn.lock().unwrap_or_else(PoisonError::into_inner);
        // Places that are gone have nothing to clear.
        worn.retain(|place, runs| keep_from_ms.contains_key(place) && !runs.is_empty());
        let mut due = Vec::new();
        for (place, runs) in worn.iter_mut() {
            let kept_from_ms = keep_from_ms.get(place);
            let (now, later): (Vec<Run>, Vec<Run>) =
                runs.drain(..).partition(|run| run.is_due(kept_from_ms));
            due.extend(now.into_iter().map(|run| (*place, run)));
            *runs = later;
        }
        due
    }

    fn kept_from_ms(&self) -> BTreeMap<u32, u64> {
        let keep_from_ms = self.keep_from_ms.lock();
        keep_from_ms.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Removes all rows of keys of a run whose newest version is a delete below the kept versions.
    fn remove_deleted(&self, run: &Run, keep_from_ms: u64) -> Result<usize, StoreError> {
        let mut options = in_order();
        options.set_iterate_upper_bound(run.to.clone());
        options.fill_cache(false);
        let mut rows = self.db.raw_iterator_opt(options);
        rows.seek(&run.from);
        let mut batch = WriteBatch::default();
        let (mut last, mut goes, mut removed) = (Vec::new(), false, 0);
        while let Some((row, value)) = rows.item() {
            let (head, version) = key::split(row).ok_or_else(|| damaged("a row"))?;
            if head != last {
                // Rows of one key go together: an older version must not come back.
                if batch.len() >= BATCH_ROWS {
                    self.db
                        .write_opt(std::mem::take(&mut batch), &write_options())?;
                }
                last.clear();
                last.extend_from_slice(head);
                let is_delete = decode(value).ok_or_else(|| damaged("a value"))?.is_none();
                goes = is_delete && version.millis() < keep_from_ms;
            }
            if goes {
                batch.delete(row);
                removed += 1;
            }
            rows.next();
        }
        rows.status()?;
        self.db.write_opt(batch, &write_options())?;
        Ok(removed)
    }
}

#[cfg(test)]
#[path = "clear_tests.rs"]
mod tests;
