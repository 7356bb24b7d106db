//! Verify: reading every block that is on disk.

use rocksdb::{ColumnFamilyDescriptor, DB, IteratorMode};

use crate::record::Record;
use crate::store::{Inner, family};
use crate::tuning::{self, DATA, FAMILIES};
use crate::{Store, StoreError};

impl Store {
    /// Reads all SST files past every cache and checks each block's checksum and each record's
    /// form. Answers how many records were seen. Blocks its thread, for long on a large store;
    /// the store can be used meanwhile.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] names the first damaged file.
    pub fn verify(&self) -> Result<u64, StoreError> {
        let inner = &*self.inner;
        // The second look works on the files of this moment, which must stay while it lasts.
        inner
            .db
            .disable_file_deletions()
            .map_err(|error| inner.error(error))?;
        let seen = inner.read_all();
        inner
            .db
            .enable_file_deletions()
            .map_err(|error| inner.error(error))?;
        seen
    }
}

impl Inner {
    fn read_all(&self) -> Result<u64, StoreError> {
        let refused = |error| self.error(error);
        let (options, table) = tuning::uncached(&self.env);
        let db = DB::open_cf_descriptors_read_only(
            &options,
            &self.path,
            FAMILIES.map(|name| ColumnFamilyDescriptor::new(name, table.clone())),
            false,
        )
        .map_err(refused)?;
        let mut seen = 0;
        for name in FAMILIES {
            let records =
                db.iterator_cf_opt(family(&db, name)?, tuning::read_bulk(), IteratorMode::Start);
            for record in records {
                let (_, value) = record.map_err(refused)?;
                if name == DATA {
                    Record::decode(&value).map_err(|error| self.damaged(&error))?;
                    seen += 1;
                }
            }
        }
        Ok(seen)
    }
}
