//! Putting copied records of one partition on disk: as a file that the store takes over where nothing is
//! in their way, else through the log. Moves and backfills do.

use std::io;
use std::ops::Bound;
use std::path::Path;

use dunlin_entry::{Entry, Vector, Version};
use dunlin_log::disk::Disk;
use dunlin_message::DecodeError;
use dunlin_store::{Ingestible, Store, StoreError};
use futures_util::future::join_all;

use super::Shard;
use super::admit::{Nonsense, admit};
use super::quiet::Keys;

/// In the shard's directory: no record in files that were taken over has a greater height (its
/// version, or that of a stamp it replaces). The
/// store's own note of that is not on disk before its next flush.
const FILE: &str = "ingested";

/// What is noted is rounded up by about a minute, so that it is seldom written.
const SLACK: u64 = (1 << 32) - 1;

/// Up to so many files are taken over in one go, more in groups beside each other.
const FILES_IN_ONE: usize = 8;
const GROUPS: usize = 2;

/// Records of one partition, keys ascending, that are to be put on disk.
pub(crate) struct Sorted {
    entries: Vec<Entry>,
    /// Of keys and values.
    pub bytes: usize,
    /// The newest stamp, and the greatest height, which is no less.
    newest: Version,
    highest: Version,
    /// The newest of each origin.
    came: Vector,
    /// The same as a file, where they are enough for one.
    file: Option<Ingestible>,
}

/// Why records cannot be put on disk.
#[derive(Debug, thiserror::Error)]
enum Unfit {
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    #[error(transparent)]
    Nonsense(#[from] Nonsense),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Shard {
    /// Puts records of one partition on disk, keys ascending.
    pub(crate) async fn ingest(&self, entries: Vec<Entry>) -> Result<(), String> {
        let sorted = self.sort_out(move || Ok(entries)).await?;
        self.ingest_all(sorted.into_iter().collect()).await
    }

    /// Looks through records of one partition that another shard has sent, keys ascending, and writes
    /// them into a file; `None` when there are none. Off the event loop, `read` too.
    pub(crate) async fn sort_out(
        &self,
        read: impl FnOnce() -> Result<Vec<Entry>, DecodeError> + Send + 'static,
    ) -> Result<Option<Sorted>, String> {
        let file_bytes_min = self.config.ingest_bytes;
        let store = self.store.clone();
        let cluster = self.origin.cluster();
        let sort_out = move || -> Result<Option<Sorted>, Unfit> {
            let entries = read()?;
            entries
                .iter()
                .try_for_each(|entry| admit(entry, None, cluster))?;
            let Some(newest) = entries.iter().map(|entry| entry.stamp.version).max() else {
                return Ok(None);
            };
            let heights = entries.iter().map(|entry| entry.rank().height());
            let highest = heights.max().unwrap_or(newest);
            let mut came = Vector::default();
            for entry in &entries {
                let position = entry.position();
                came.advance(position.origin, position.sequence);
            }
            let bytes: usize = entries.iter().map(|e| e.key.len() + e.value.len()).sum();
            // The list of what is to end is written with the log's entries, and no file has it.
            let ends = entries.iter().any(|entry| entry.expiry_ms.is_some());
            let file = if bytes >= file_bytes_min && !ends {
                Some(store.ingest_prepare(&entries)?)
            } else {
                None
            };
            Ok(Some(Sorted {
                entries,
                bytes,
                newest,
                highest,
                came,
                file,
            }))
        };
        let sorted = self.env.store_runner.run_apart(sort_out).await;
        let sorted = sorted.map_err(|gone| gone.to_string())?;
        sorted.map_err(|unfit| {
            if let Unfit::Nonsense(nonsense) = &unfit {
                self.count_nonsense(nonsense);
            }
            unfit.to_string()
        })
    }

    /// Puts records on disk, of each partition those with lesser keys first.
    pub(crate) async fn ingest_all(&self, all: Vec<Sorted>) -> Result<(), String> {
        for sorted in &all {
            if !self.take_over(sorted.newest) {
                let keyspace = sorted.entries.first().map(|entry| entry.keyspace);
                let keyspace = keyspace.unwrap_or_default();
                return Err(self.to_be_mended(keyspace, sorted.newest));
            }
        }
        let rest = if all.iter().any(|sorted| sorted.file.is_some()) {
            self.ingest_files(all).await?
        } else {
            all
        };
        if rest.is_empty() {
            return Ok(());
        }
        for sorted in rest {
            self.copies_applied(sorted.entries).await?;
        }
        self.sync_log_to(self.log.last()).await
    }

    /// Names what is to be done about a record that is stamped too far ahead.
    pub(super) fn to_be_mended(&self, keyspace: u32, newest: Version) -> String {
        self.pause_copies();
        let placement = self.placement();
        let placed = placement.keyspace(keyspace);
        let name = placed.map_or("NAME", |placed| &placed.keyspace.name);
        format!(
            "a record of keyspace {name} is stamped further ahead than --clock-bound ({newest}) and cannot be copied: run dunlin keyspace mend-stamps {name}"
        )
    }

    /// Takes over what is in files; gives back what is not, and where the store holds something in
    /// between.
    async fn ingest_files(&self, all: Vec<Sorted>) -> Result<Vec<Sorted>, String> {
        let in_files = || all.iter().filter(|sorted| sorted.file.is_some());
        let highest = in_files().map(|sorted| sorted.highest).max();
        if let Some(highest) = highest
            && highest > self.ingested.get()
        {
            // The store's marks must be on disk before any data beside them.
            self.flush().await?;
            let bound = Version(highest.0 | SLACK);
            note(&*self.env.disk, &self.dir(), bound).map_err(|error| error.to_string())?;
            self.ingested.set(bound);
        }
        // A file is in no log, and no vector names what is in it.
        for sorted in in_files() {
            for (origin, version) in sorted.came.iter() {
                self.copies.came(origin, version);
            }
        }
        // What is applied there between the look and the taking over would be hidden, and so would be what
        // others take over.
        let keys = in_files().filter_map(Sorted::keys).collect();
        let still = self.quiet.keep(keys).await;
        let (store, runner) = (self.store.clone(), self.env.store_runner.clone());
        // Whoever waits may give up: what has begun goes on, and so long nothing is applied there.
        let taking = tokio::task::spawn_local(async move {
            let groups = in_groups(all).into_iter().map(|group| {
                let (store, runner) = (store.clone(), runner.clone());
                async move {
                    let at = store.clone();
                    let looked = runner.run_apart(move || Looked::at(&at, group));
                    let looked = looked.await.map_err(|gone| gone.to_string())?;
                    let looked = looked.map_err(|error| error.to_string())?;
                    let taken = runner.run_apart(move || looked.take_over(&store));
                    let taken = taken.await.map_err(|gone| gone.to_string())?;
                    taken.map_err(|error| error.to_string())
                }
            });
            let done = join_all(groups).await;
            drop(still);
            done
        });
        let mut rest = Vec::new();
        for done in taking.await.map_err(|error| error.to_string())? {
            rest.extend(done?);
        }
        Ok(rest)
    }
}

/// The disk syncs each file that is taken over, and several at a time for those that ask at a time; each
/// group holds up puts once.
fn in_groups(all: Vec<Sorted>) -> Vec<Vec<Sorted>> {
    let groups = if all.len() > FILES_IN_ONE { GROUPS } else { 1 };
    let each = all.len().div_ceil(groups).max(1);
    let mut all = all.into_iter();
    let next = || Some(all.by_ref().take(each).collect::<Vec<_>>());
    let groups = std::iter::from_fn(next);
    groups.take_while(|group| !group.is_empty()).collect()
}

/// Records in files, and whether the store holds anything in between.
struct Looked {
    clear: Vec<Sorted>,
    /// Those of the clear ones.
    files: Vec<Ingestible>,
    rest: Vec<Sorted>,
}

impl Looked {
    fn at(store: &Store, all: Vec<Sorted>) -> Result<Looked, StoreError> {
        let (mut clear, mut files, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        for mut sorted in all {
            match sorted.file.take() {
                Some(file) if sorted.is_range_empty(store)? => {
                    clear.push(sorted);
                    files.push(file);
                }
                _ => rest.push(sorted),
            }
        }
        Ok(Looked { clear, files, rest })
    }

    /// Has the store take over what is clear; gives back all else. Nothing may have come there since the look.
    fn take_over(mut self, store: &Store) -> Result<Vec<Sorted>, StoreError> {
        if store.ingest(&self.files)? {
            return Ok(self.rest);
        }
        // One of them has something in its way.
        for (sorted, file) in self.clear.into_iter().zip(self.files) {
            if !store.ingest(&[file])? {
                self.rest.push(sorted);
            }
        }
        Ok(self.rest)
    }
}

impl Sorted {
    fn is_range_empty(&self, store: &Store) -> Result<bool, StoreError> {
        is_clear(store, &self.entries)
    }

    /// From the first to the last.
    fn keys(&self) -> Option<Keys> {
        let (first, last) = (self.entries.first()?, self.entries.last()?);
        Some(Keys {
            keyspace: first.keyspace,
            partition: first.partition,
            first: first.key.clone(),
            last: last.key.clone(),
        })
    }
}

/// Whether the store holds nothing from the first of some records of a partition to the last.
fn is_clear(store: &Store, entries: &[Entry]) -> Result<bool, StoreError> {
    let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
        return Ok(true);
    };
    let (keyspace, partition) = (first.keyspace, first.partition);
    is_range_empty(store, keyspace, partition, &first.key, Some(&last.key))
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

#[cfg(test)]
#[path = "ingest_tests.rs"]
mod tests;
