//! Get: one key.

use std::sync::atomic::Ordering;

use rocksdb::ErrorKind;
use xxhash_rust::xxh3::xxh3_64;

use crate::record::Record;
use crate::{Store, StoreError, Versioned, key};

/// How far a read may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Memory only; never waits. For event loops.
    CacheOnly,
    /// To the disk when need be. For threads that may wait.
    Disk,
}

/// What a read found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The record, which may be a tombstone or have expired: see [`Versioned::visible`].
    Value(Versioned),
    /// Nothing is known of the key.
    Absent,
    /// Memory does not tell; ask again with [`Tier::Disk`]. Never the answer to that.
    NeedsDisk,
}

impl Store {
    /// Reads a key.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] rather than a value whose checksum is wrong; [`StoreError::Io`].
    pub fn get(
        &self,
        keyspace: u32,
        partition: u16,
        key: &[u8],
        tier: Tier,
    ) -> Result<Lookup, StoreError> {
        let inner = &*self.inner;
        let mut full = Vec::with_capacity(key::PREFIX_BYTES + key.len());
        key::encode(&mut full, keyspace, partition, key);
        let hash = xxh3_64(&full);
        let now_ms = inner.clock_ms.load(Ordering::Relaxed);
        // One that has expired may have been purged meanwhile: only RocksDB knows.
        let lives = |row: &Versioned| row.expiry_ms.is_none_or(|expiry_ms| expiry_ms > now_ms);
        if let Some(row) = inner.rows.get(hash, &full).filter(lives) {
            inner.rows.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(Lookup::Value(row));
        }
        if tier == Tier::CacheOnly {
            // Who goes on to the disk has been counted already.
            inner.rows.misses.fetch_add(1, Ordering::Relaxed);
        }
        let noted = inner.rows.note(hash);
        let read = match tier {
            Tier::CacheOnly => &inner.read_memory,
            Tier::Disk => &inner.read_disk,
        };
        match inner.db.get_pinned_opt(&full, read) {
            Ok(Some(bytes)) => match Record::decode(&bytes) {
                Ok(record) => {
                    let versioned = record.to_versioned();
                    inner.rows.keep(hash, &full, noted, &versioned);
                    Ok(Lookup::Value(versioned))
                }
                Err(error) => Err(inner.damaged(&error)),
            },
            Ok(None) => Ok(Lookup::Absent),
            Err(error) if tier == Tier::CacheOnly && error.kind() == ErrorKind::Incomplete => {
                Ok(Lookup::NeedsDisk)
            }
            Err(error) => Err(inner.error(error)),
        }
    }
}
