//! Remove: whole keyspaces and partitions.

use rocksdb::WriteBatch;

use crate::store::family;
use crate::tuning::DATA;
use crate::{Store, StoreError, key};

impl Store {
    /// Drops a keyspace and all it holds; files that hold nothing else go at once. It is no log
    /// record: a crash before the next flush undoes it, so repeat it after opening for every
    /// keyspace that is to go. What it has in files beside others stays there until
    /// [`Store::compact_keyspace`].
    ///
    /// # Errors
    /// As [`Store::apply`].
    pub fn drop_keyspace(&self, keyspace: u32) -> Result<(), StoreError> {
        key::check_keyspace(keyspace)?;
        self.drop_range(
            &key::prefix(keyspace, 0),
            &key::after(keyspace, u16::MAX),
            keyspace,
            u16::MAX,
        )
    }

    /// Drops a partition, as [`Store::drop_keyspace`] does a keyspace.
    ///
    /// # Errors
    /// As [`Store::apply`].
    pub fn drop_partition(&self, keyspace: u32, partition: u16) -> Result<(), StoreError> {
        key::check_keyspace(keyspace)?;
        self.drop_range(
            &key::prefix(keyspace, partition),
            &key::after(keyspace, partition),
            keyspace,
            partition,
        )
    }

    fn drop_range(
        &self,
        from: &[u8],
        to: &[u8],
        keyspace: u32,
        last: u16,
    ) -> Result<(), StoreError> {
        let inner = &*self.inner;
        let mut writer = inner.writer();
        let mut batch = WriteBatch::default();
        batch.delete_range(from, to);
        inner
            .db
            .write_opt(batch, &inner.write)
            .map_err(|error| inner.error(error))?;
        inner.rows.forget_range(from, to);
        writer.changes.of_any();
        // RocksDB takes this end inclusively, and `to` is itself a possible key of the next
        // partition (the empty one): end on a key that is surely of the last.
        let mut end = key::prefix(keyspace, last).to_vec();
        end.extend_from_slice(&[0xff; 64]);
        inner
            .db
            .delete_file_in_range_cf(family(&inner.db, DATA)?, from, &end)
            .map_err(|error| inner.error(error))
    }
}
