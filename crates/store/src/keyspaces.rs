//! Keyspaces: which a store holds anything of.

use crate::scan::bounded;
use crate::store::family;
use crate::tuning::DATA;
use crate::{Store, StoreError, key, tuning};

/// The number that no keyspace has.
const RESERVED: u32 = u32::MAX;

impl Store {
    /// Numbers of the keyspaces of which there is a record, ascending; one seek each. May wait for
    /// the disk.
    ///
    /// # Errors
    /// As [`Store::scan_page`].
    pub fn keyspaces(&self) -> Result<Vec<u32>, StoreError> {
        let inner = &*self.inner;
        let end = key::prefix(RESERVED, 0).to_vec();
        let mut iter = inner.db.raw_iterator_opt(bounded(tuning::read_bulk(), end));
        let mut found = Vec::new();
        iter.seek_to_first();
        while let Some(at) = iter.key() {
            let Some((keyspace, ..)) = key::decode(at) else {
                break;
            };
            found.push(keyspace);
            iter.seek(key::prefix(keyspace.saturating_add(1), 0));
        }
        iter.status().map_err(|error| inner.error(error))?;
        Ok(found)
    }

    /// Bytes of files that a keyspace takes, estimated; those of records that are dropped and not
    /// yet compacted away included.
    ///
    /// # Errors
    /// [`StoreError::Refused`] and [`StoreError::ReservedKeyspace`].
    pub fn keyspace_bytes(&self, keyspace: u32) -> Result<u64, StoreError> {
        key::check_keyspace(keyspace)?;
        let inner = &*self.inner;
        let (from, to) = (key::prefix(keyspace, 0), key::after(keyspace, u16::MAX));
        let range = rocksdb::Range::new(&from, &to);
        let sizes = inner
            .db
            .get_approximate_sizes_cf(family(&inner.db, DATA)?, &[range]);
        Ok(sizes.first().copied().unwrap_or(0))
    }
}
