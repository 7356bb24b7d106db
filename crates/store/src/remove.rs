//! Remove: whole keyspaces and partitions.

use rocksdb::WriteBatch;

use crate::store::family;
use crate::tuning::DATA;
use crate::{Store, StoreError, key};

impl Store {
    /// Drops a keyspace that nobody reads any more, and all it holds; files that hold nothing else
    /// go at once, also where a full disk takes nothing more: drop it again once that made room. It
    /// is no log record: a crash before the next flush undoes part of it, and may show older values,
    /// so repeat it after opening for every keyspace that is to go. What it has in files beside
    /// others stays there until [`Store::compact_keyspace`].
    ///
    /// # Errors
    /// As [`Store::apply`]; some of it may be gone then.
    pub fn drop_keyspace(&self, keyspace: u32) -> Result<(), StoreError> {
        key::check_keyspace(keyspace)?;
        let (from, to) = (key::prefix(keyspace, 0), key::after(keyspace, u16::MAX));
        let mut writer = self.inner.writer();
        // A store that found no space refuses the record until there is some.
        let removed = self.remove_files(&from, keyspace, u16::MAX);
        let noted = self.note_range(&from, &to);
        self.inner.rows.forget_range(&from, &to);
        writer.changes.of_any();
        removed.and(noted)
    }

    /// Drops a partition, as [`Store::drop_keyspace`] does a keyspace, but all or nothing until a
    /// crash: its older values must never be seen.
    ///
    /// # Errors
    /// As [`Store::apply`].
    pub fn drop_partition(&self, keyspace: u32, partition: u16) -> Result<(), StoreError> {
        key::check_keyspace(keyspace)?;
        let from = key::prefix(keyspace, partition);
        let to = key::after(keyspace, partition);
        let mut writer = self.inner.writer();
        self.note_range(&from, &to)?;
        self.inner.rows.forget_range(&from, &to);
        writer.changes.of_any();
        self.remove_files(&from, keyspace, partition)
    }

    /// Notes that all from `from` to before `to` is deleted.
    fn note_range(&self, from: &[u8], to: &[u8]) -> Result<(), StoreError> {
        let inner = &*self.inner;
        let mut batch = WriteBatch::default();
        batch.delete_range(from, to);
        inner
            .db
            .write_opt(batch, &inner.write)
            .map_err(|error| inner.error(error))
    }

    /// Removes the files that hold nothing but what is from `from` to the end of partition `last`.
    fn remove_files(&self, from: &[u8], keyspace: u32, last: u16) -> Result<(), StoreError> {
        let inner = &*self.inner;
        // RocksDB takes this end inclusively, and what follows it is itself a possible key of the
        // next partition (the empty one): end on a key that is surely of the last.
        let mut end = key::prefix(keyspace, last).to_vec();
        end.extend_from_slice(&[0xff; 64]);
        inner
            .db
            .delete_file_in_range_cf(family(&inner.db, DATA)?, from, &end)
            .map_err(|error| inner.error(error))
    }
}
