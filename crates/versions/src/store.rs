//! The handle: opening, flushing, and what is known of each range.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dunlin_store::{Rows, SharedResources};
use rocksdb::{
    DB, Direction, ErrorKind, FlushOptions, IteratorMode, ReadOptions, ReadTier, SliceTransform,
    WriteBatch, WriteOptions, properties,
};

use crate::collect::{Collector, KeepFrom};
use crate::key;
use crate::meta::Meta;
use crate::worn::Worn;

/// Rows are kept in memory up to here.
const MEMTABLE_BYTES: usize = 32 << 20;
/// Memtables that may be full and not flushed; with one more RocksDB would slow writes down, and with two stop them.
const FULL_MAX: u64 = 3;

/// Room of fewer bytes is given back when RocksDB compacts their files for another reason: they are shared with other rows.
const GIVEN_BACK_MIN: u64 = 8 << 20;

/// What a store cannot do.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// This replica is to be replaced.
    #[error("the store of ranges is damaged: {0}")]
    Damaged(String),
    /// Nothing was written; it succeeds again once the disk has had room for some seconds.
    #[error("no space left for the store of ranges: {0}")]
    NoSpace(String),
    /// The disk refuses.
    #[error("the store of ranges cannot be written or read: {0}")]
    Io(String),
}

impl From<rocksdb::Error> for StoreError {
    fn from(error: rocksdb::Error) -> StoreError {
        match error.kind() {
            ErrorKind::Corruption | ErrorKind::InvalidArgument | ErrorKind::NotFound => {
                StoreError::Damaged(error.into_string())
            }
            _ if error.as_ref().contains("No space left on device") => {
                StoreError::NoSpace(error.into_string())
            }
            _ => StoreError::Io(error.into_string()),
        }
    }
}

/// The ranges of a shard. Clones are the same.
#[derive(Clone)]
pub struct Store {
    pub(crate) db: Arc<DB>,
    /// Older versions than this, and not the newest of their key, go.
    pub(crate) keep_from_ms: KeepFrom,
    /// Runs of deleted keys that reads have passed by.
    pub(crate) worn: Worn,
    /// Newest values that were read lately.
    pub(crate) cached: Arc<Rows>,
    /// A deliberate bug, for the simulation to find: cached values stay when newer ones are written.
    pub keeps_cached: bool,
    /// How many copies of ranges are being read.
    pub(crate) copies: Arc<AtomicUsize>,
    path: PathBuf,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("path", &self.path).finish()
    }
}

impl Store {
    /// Opens the store in a directory, making it when it is not there. May wait for the disk.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn open(
        path: &Path,
        resources: &SharedResources,
        has_background: bool,
    ) -> Result<Store, StoreError> {
        let keep_from_ms = KeepFrom::default();
        let mut options = resources.database_beside(MEMTABLE_BYTES);
        options.set_max_write_buffer_number(FULL_MAX as i32 + 2);
        // A key that has no version is known by a filter, without a search.
        let heads = SliceTransform::create("dunlin-key", key::head, Some(key::has_head));
        options.set_prefix_extractor(heads);
        options.set_memtable_prefix_bloom_ratio(0.1);
        options.set_compaction_filter_factory(Collector(keep_from_ms.clone()));
        if !has_background {
            options.set_disable_auto_compactions(true);
        }
        // Closing must not write: what is not flushed stands in the log.
        let options = options.get_options_from_string("avoid_flush_during_shutdown=true")?;
        Ok(Store {
            db: Arc::new(DB::open(&options, path)?),
            keep_from_ms,
            worn: Worn::default(),
            cached: Arc::new(resources.rows()),
            keeps_cached: false,
            copies: Arc::default(),
            path: path.to_owned(),
        })
    }

    /// What is known of each group.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn groups(&self) -> Result<BTreeMap<u64, Meta>, StoreError> {
        let mut groups = BTreeMap::new();
        let from = IteratorMode::From(&[key::META], Direction::Forward);
        for row in self.db.iterator_opt(from, in_order()) {
            let (row, value) = row?;
            let Some(group) = row.strip_prefix(&[key::META]) else {
                break;
            };
            let group = group.try_into().map(u64::from_be_bytes);
            match (group, Meta::decode(&value)) {
                (Ok(group), Some(meta)) => drop(groups.insert(group, meta)),
                _ => return Err(StoreError::Damaged("what it knows of a range".into())),
            }
        }
        Ok(groups)
    }

    /// The row of one group; none where there is none.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn meta(&self, group: u64) -> Result<Option<Meta>, StoreError> {
        let Some(row) = self.db.get(key::of_group(group))? else {
            return Ok(None);
        };
        let meta = Meta::decode(&row);
        meta.map(Some)
            .ok_or_else(|| StoreError::Damaged("what it knows of a range".into()))
    }

    /// A place that no group has.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn free_place(&self) -> Result<u32, StoreError> {
        let from = key::of_place(u32::MAX);
        let from = IteratorMode::From(&from, Direction::Reverse);
        let last = self.db.iterator_opt(from, in_order());
        let used = last.flatten().next().and_then(|(row, _)| {
            let place = row.get(1..key::PREFIX)?.try_into().ok()?;
            (row.first() == key::of_place(0).first()).then(|| u32::from_be_bytes(place))
        });
        let of_groups = self.groups()?.into_values().map(|meta| meta.place).max();
        Ok(used.max(of_groups).map_or(0, |place| place + 1))
    }

    /// Whether a write could wait now until rows are flushed or compacted.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn is_stopped(&self) -> Result<bool, StoreError> {
        let full = self
            .db
            .property_int_value(properties::NUM_IMMUTABLE_MEM_TABLE)?;
        if full >= Some(FULL_MAX) {
            return Ok(true);
        }
        let stopped = self.db.property_int_value(properties::IS_WRITE_STOPPED)?;
        Ok(stopped == Some(1))
    }

    /// Whether writes are taken: an empty one is tried.
    ///
    /// # Errors
    /// [`StoreError::NoSpace`] until RocksDB has found room again; else see [`StoreError`].
    pub fn check(&self) -> Result<(), StoreError> {
        Ok(self.db.write_opt(WriteBatch::default(), &write_options())?)
    }

    /// Sets what is known of a group.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn set(&self, group: u64, meta: &Meta) -> Result<(), StoreError> {
        let row = key::of_group(group);
        Ok(self.db.put_opt(row, meta.encode(), &write_options())?)
    }

    /// Sets the row of a group and its descriptor, in one batch.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn set_with(&self, group: u64, meta: &Meta, descriptor: &[u8]) -> Result<(), StoreError> {
        let mut batch = WriteBatch::default();
        batch.put(key::of_group(group), meta.encode());
        batch.put(key::of_descriptor(group), descriptor);
        Ok(self.db.write_opt(batch, &write_options())?)
    }

    /// The descriptor of a group; none before the first.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn descriptor(&self, group: u64) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.db.get(key::of_descriptor(group))?)
    }

    /// The least number of a replica of a group that may be made here: those below it were here, and are gone.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn least(&self, group: u64) -> Result<u64, StoreError> {
        let Some(row) = self.db.get(key::of_gone(group))? else {
            return Ok(0);
        };
        let number = row.try_into().map(u64::from_le_bytes);
        number.map_err(|_| StoreError::Damaged("which replicas of a range are gone".into()))
    }

    /// Removes a group and all its rows. Replicas below the number `least` are not made here again; with 0, the group
    /// itself is no more.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn remove(&self, group: u64, place: u32, least: u64) -> Result<(), StoreError> {
        let mut batch = WriteBatch::default();
        batch.delete(key::of_group(group));
        batch.delete(key::of_descriptor(group));
        match least {
            0 => batch.delete(key::of_gone(group)),
            _ => batch.put(key::of_gone(group), least.to_le_bytes()),
        }
        self.remove_place(batch, place)
    }

    /// Removes all rows of a group at a place, and sets the row of an empty replica in their stead.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn replace(&self, group: u64, place: u32, meta: &Meta) -> Result<(), StoreError> {
        let mut batch = WriteBatch::default();
        batch.put(key::of_group(group), meta.encode());
        batch.delete(key::of_descriptor(group));
        self.remove_place(batch, place)
    }

    /// Removes all rows of a place, and gives their room on the disk back. Waits for the disk.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn clear(&self, place: u32) -> Result<(), StoreError> {
        self.remove_place(WriteBatch::default(), place)?;
        let (from, to) = (key::of_place(place), key::of_place(place + 1));
        // Copies that are being sent read the rows of the moment at which they began, in these files.
        if self.copies.load(Ordering::Acquire) == 0 {
            self.db.delete_file_in_range(from, to)?;
        }
        // RocksDB itself does not compact files that a removed range covers.
        if self.about_bytes(place) >= GIVEN_BACK_MIN {
            self.flush()?;
            self.db.compact_range(Some(from), Some(to));
        }
        Ok(())
    }

    /// Bytes on disk of the rows of a place, about.
    pub fn about_bytes(&self, place: u32) -> u64 {
        let (from, to) = (key::of_place(place), key::of_place(place + 1));
        let sizes = self
            .db
            .get_approximate_sizes(&[rocksdb::Range::new(&from, &to)]);
        sizes.into_iter().sum()
    }

    fn remove_place(&self, mut batch: WriteBatch, place: u32) -> Result<(), StoreError> {
        let (from, to) = (key::of_place(place), key::of_place(place + 1));
        batch.delete_range(from, to);
        self.db.write_opt(batch, &write_options())?;
        self.cached.forget_range(&from, &to);
        Ok(())
    }

    /// Removes rows of places that no group has: of ranges that were being loaded when the process ended.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn clear_left_over(&self) -> Result<(), StoreError> {
        let used: Vec<u32> = self
            .groups()?
            .into_values()
            .map(|meta| meta.place)
            .collect();
        let mut place = 0;
        while place < self.free_place()? {
            if !used.contains(&place) {
                self.clear(place)?;
            }
            place += 1;
        }
        Ok(())
    }

    /// Everything applied so far goes to the disk. Waits for it.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn flush(&self) -> Result<(), StoreError> {
        let mut options = FlushOptions::default();
        options.set_wait(true);
        Ok(self.db.flush_opt(&options)?)
    }
}

/// For reading rows of one key alone.
pub(crate) fn of_one_key(memory_only: bool) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.set_prefix_same_as_start(true);
    if memory_only {
        options.set_read_tier(ReadTier::BlockCache);
    }
    options
}

/// For reading rows of many keys, in their order.
pub(crate) fn in_order() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.set_total_order_seek(true);
    options
}

/// Whether a read that was confined to memory had to go further.
pub(crate) fn is_incomplete(error: &rocksdb::Error) -> bool {
    error.kind() == ErrorKind::Incomplete
}

pub(crate) fn write_options() -> WriteOptions {
    let mut options = WriteOptions::default();
    options.disable_wal(true);
    options
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
