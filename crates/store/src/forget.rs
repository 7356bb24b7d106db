//! Forget: single records that every other replica has deleted and forgotten.

use bytes::Bytes;
use dunlin_entry::Stamp;
use rocksdb::WriteBatch;
use xxhash_rust::xxh3::xxh3_64;

use crate::record::Record;
use crate::{Store, StoreError, key};

impl Store {
    /// Drops records of a partition that still have these stamps; what is newer by now stays.
    /// Answers how many went. No tombstone stays behind, and like [`Store::drop_partition`] it is
    /// no log record: a crash before the next flush undoes it. Writers wait meanwhile, so name few.
    ///
    /// # Errors
    /// As [`Store::apply`].
    pub fn forget(
        &self,
        keyspace: u32,
        partition: u16,
        records: &[(Bytes, Stamp)],
    ) -> Result<u64, StoreError> {
        key::check_keyspace(keyspace)?;
        let inner = &*self.inner;
        let mut batch = WriteBatch::default();
        let mut dropped = Vec::new();
        let mut full = Vec::new();
        // What is read here must be what is dropped: nothing may be written in between.
        let mut writer = inner.writer();
        for (user, stamp) in records {
            key::encode(&mut full, keyspace, partition, user);
            let held = inner
                .db
                .get_pinned_opt(&full, &inner.read_disk)
                .map_err(|error| inner.error(error))?;
            let Some(held) = held else { continue };
            let record = Record::decode(&held).map_err(|error| inner.damaged(&error))?;
            if record.stamp == *stamp {
                batch.delete(&full);
                dropped.push(xxh3_64(&full));
            }
        }
        if !dropped.is_empty() {
            inner
                .db
                .write_opt(batch, &inner.write)
                .map_err(|error| inner.error(error))?;
            writer.changes.of(keyspace);
        }
        drop(writer);
        for hash in &dropped {
            inner.rows.forget(*hash);
        }
        Ok(dropped.len() as u64)
    }
}
