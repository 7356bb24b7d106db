//! Count: how many keys there are, one by one, while they are few.

use rocksdb::ErrorKind;

use crate::record::Record;
use crate::scan::bounded;
use crate::{Store, StoreError, key, tuning};

/// Records that are looked at, deletes among them.
const COUNTED_RECORDS: u64 = 10_000;
/// Bytes of them that are looked at.
const COUNTED_BYTES: usize = 4 << 20;
/// Removed records that are passed over between two others.
const SKIPPED_MAX: u64 = 10_000;
/// Milliseconds after which no further record is looked at, however few they were.
const COUNT_MS: u64 = 50;
/// The number that no keyspace has.
const RESERVED: u32 = u32::MAX;

/// What a count came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Keys that a reader sees.
    pub keys: u64,
    /// Whether those are all.
    pub is_all: bool,
}

/// What has been looked at.
struct Look {
    began_ms: u64,
    records: u64,
    bytes: usize,
}

impl Look {
    fn has_time(&self, now_ms: u64) -> bool {
        // A clock that is set back meanwhile must not make it last.
        let spent_ms = now_ms.checked_sub(self.began_ms);
        spent_ms.is_some_and(|spent_ms| spent_ms < COUNT_MS)
    }

    fn has_room(&self) -> bool {
        self.records < COUNTED_RECORDS && self.bytes <= COUNTED_BYTES
    }
}

impl Store {
    /// Counts the keys of these keyspaces, those that were not deleted and are not expired, and
    /// gives up when that is more than a little work. May wait for the disk.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when a block's checksum is wrong, [`StoreError::Io`].
    pub fn count_keys(&self, keyspaces: &[u32]) -> Result<Counted, StoreError> {
        let inner = &*self.inner;
        let now_ms = &inner.now_ms;
        let mut look = Look {
            began_ms: now_ms(),
            records: 0,
            bytes: 0,
        };
        let mut read = bounded(tuning::read_bulk(), key::prefix(RESERVED, 0).to_vec());
        read.set_max_skippable_internal_keys(SKIPPED_MAX);
        let mut iter = inner.db.raw_iterator_opt(read);
        let mut counted = Counted {
            keys: 0,
            is_all: false,
        };
        for keyspace in keyspaces {
            if !look.has_time(now_ms()) {
                return Ok(counted);
            }
            iter.seek(key::prefix(*keyspace, 0));
            while let Some((key, value)) = iter.item() {
                if key::decode(key).is_none_or(|(of, ..)| of != *keyspace) {
                    break;
                }
                let now_ms = now_ms();
                if !look.has_room() || !look.has_time(now_ms) {
                    return Ok(counted);
                }
                look.records += 1;
                look.bytes += key.len() + value.len();
                let record = Record::decode(value).map_err(|error| inner.damaged(&error))?;
                let is_expired = record.expiry_ms.is_some_and(|at| at <= now_ms);
                if !record.tombstone && !is_expired {
                    counted.keys += 1;
                }
                iter.next();
            }
            match iter.status() {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Incomplete => return Ok(counted),
                Err(error) => return Err(inner.error(error)),
            }
        }
        counted.is_all = true;
        Ok(counted)
    }
}
