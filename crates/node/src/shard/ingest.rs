//! Putting copied records of one partition on disk: as a file that the store takes over where nothing is
//! in their way, else through the log. Moves and backfills do.

use std::io;
use std::ops::Bound;
use std::path::Path;

use dunlin_entry::{Entry, Version};
use dunlin_log::disk::Disk;
use dunlin_store::{Store, StoreError};

use super::Shard;

/// In the shard's directory: no record in files that were taken over has a greater height (its
/// version, or that of a stamp it replaces). The
/// store's own note of that is not on disk before its next flush.
const FILE: &str = "ingested";

/// What is noted is rounded up by about a minute, so that it is seldom written.
const SLACK: u64 = (1 << 32) - 1;

impl Shard {
    /// Puts records of one partition on disk, keys ascending.
    pub(crate) async fn ingest(&self, entries: Vec<Entry>) -> Result<(), String> {
        let admitted = self.admit(&entries, None);
        admitted.map_err(|nonsense| nonsense.to_string())?;
        let Some(newest) = entries.iter().map(|entry| entry.stamp.version).max() else {
            return Ok(());
        };
        if !self.take_over(newest) {
            return Err(self.to_be_mended(&entries, newest));
        }
        let bytes: usize = entries.iter().map(|e| e.key.len() + e.value.len()).sum();
        let rest = match bytes >= self.config.ingest_bytes {
            true => {
                let heights = entries.iter().map(|entry| entry.rank().height());
                let highest = heights.max().unwrap_or(newest);
                self.ingest_file(entries, highest).await?
            }
            false => entries,
        };
        if rest.is_empty() {
            return Ok(());
        }
        self.copies_applied(rest).await?;
        self.sync_log_to(self.log.last()).await
    }

    /// Names what is to be done about a record that is stamped too far ahead.
    fn to_be_mended(&self, entries: &[Entry], newest: Version) -> String {
        self.pause_copies();
        let placement = self.placement();
        let name = entries
            .first()
            .and_then(|entry| placement.keyspace(entry.keyspace))
            .map_or("NAME", |placed| &placed.keyspace.name);
        format!(
            "a record of keyspace {name} is stamped further ahead than --clock-bound ({newest}) and cannot be copied: run dunlin keyspace mend-stamps {name}"
        )
    }

    /// Takes records as a file; gives them back where the store holds something in between.
    async fn ingest_file(
        &self,
        entries: Vec<Entry>,
        newest: Version,
    ) -> Result<Vec<Entry>, String> {
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
            return Ok(entries);
        };
        let (keyspace, partition) = (first.keyspace, first.partition);
        let (start, end) = (first.key.clone(), last.key.clone());
        if newest > self.ingested.get() {
            // The store's marks must be on disk before any data beside them.
            self.flush().await?;
            let bound = Version(newest.0 | SLACK);
            note(&*self.env.disk, &self.dir(), bound).map_err(|error| error.to_string())?;
            self.ingested.set(bound);
        }
        // A file is in no log, and no vector names what is in it.
        for entry in &entries {
            self.copies.came(entry.stamp.origin, entry.stamp.version);
        }
        let prepared = self.store_behind(move |store| {
            let ready = store.ingest_prepare(&entries)?;
            Ok((entries, ready))
        });
        let (entries, ready) = prepared.await?;
        // What is applied between the look and the taking over would be hidden.
        self.pause_applying();
        let taken = self.store_behind(move |store| {
            match is_range_empty(store, keyspace, partition, &start, Some(&end))? {
                true => store.ingest(ready),
                false => Ok(false),
            }
        });
        let taken = taken.await;
        self.resume_applying();
        Ok(match taken? {
            true => Vec::new(),
            false => entries,
        })
    }
}

/// Whether the store holds nothing of a partition from `start` to `end`, both included.
pub(crate) fn is_range_empty(
    store: &Store,
    keyspace: u32,
    partition: u16,
    start: &[u8],
    end: Option<&[u8]>,
) -> Result<bool, StoreError> {
    let start = Bound::Included(start);
    let end = end.map_or(Bound::Unbounded, Bound::Included);
    let page = store.scan_page(keyspace, partition, start, end, 1, 1, None)?;
    Ok(page.items.is_empty())
}

/// Tells a store that was just opened of versions that files may have brought into it; answers the
/// greatest. To be called before anything is applied.
pub(super) fn expect_ingested(disk: &dyn Disk, dir: &Path, store: &Store) -> Version {
    let bound = noted(disk, dir).unwrap_or_default();
    store.expect_versions(bound);
    bound
}

fn note(disk: &dyn Disk, dir: &Path, bound: Version) -> io::Result<()> {
    let file = disk.open(&dir.join(FILE), true)?;
    // One sector: it is written as a whole or not at all.
    file.write_at(&bound.0.to_le_bytes(), 0)?;
    file.sync()?;
    disk.sync_dir(dir)
}

fn noted(disk: &dyn Disk, dir: &Path) -> Option<Version> {
    let file = disk.open(&dir.join(FILE), false).ok()?;
    let mut word = [0; 8];
    let read = file.read_at(&mut word, 0).ok()?;
    (read == word.len()).then(|| Version(u64::from_le_bytes(word)))
}
