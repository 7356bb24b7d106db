//! Digest: one number for what a partition holds, to compare replicas by.

use xxhash_rust::xxh3::xxh3_128;

use crate::record::{FLAG_POSITION, Record};
use crate::scan::bounded;
use crate::{Snapshot, Store, StoreError, key, purge, tuning};

/// A checksum of a set of records that does not depend on their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Digest {
    /// How many records were counted, tombstones included.
    pub records: u64,
    /// The sum of the records' hashes.
    pub sum: u128,
}

impl Digest {
    /// The digest of two disjoint sets together.
    pub fn join(self, other: Digest) -> Digest {
        Digest {
            records: self.records.wrapping_add(other.records),
            sum: self.sum.wrapping_add(other.sum),
        }
    }
}

impl Store {
    /// Digests a partition as of the store's own clock. Reads all of it; blocks its thread.
    ///
    /// # Errors
    /// As [`Store::scan_page`].
    pub fn digest(&self, keyspace: u32, partition: u16) -> Result<Digest, StoreError> {
        self.digest_at(keyspace, partition, (self.inner.now_ms)())
    }

    /// Digests a partition as of `now_ms` (milliseconds since 1970). What has outlived its grace
    /// by then does not count, whether or not a compaction has come by. Replicas that are to be
    /// compared should be given the same time.
    ///
    /// # Errors
    /// As [`Store::scan_page`].
    pub fn digest_at(
        &self,
        keyspace: u32,
        partition: u16,
        now_ms: u64,
    ) -> Result<Digest, StoreError> {
        key::check_keyspace(keyspace)?;
        self.snapshot().digest_at(keyspace, partition, now_ms)
    }
}

impl Snapshot {
    fn digest_at(&self, keyspace: u32, partition: u16, now_ms: u64) -> Result<Digest, StoreError> {
        let inner = self.inner();
        let to = key::after(keyspace, partition).to_vec();
        let mut iter = self.iterate(bounded(tuning::read_bulk(), to));
        let grace = (inner.grace)(keyspace);
        let mut digest = Digest::default();
        let mut scratch = Vec::new();
        iter.seek(key::prefix(keyspace, partition));
        while let Some((key, value)) = iter.item() {
            let record = Record::decode(value).map_err(|error| inner.damaged(&error))?;
            if !purge::is_due(&record, grace, now_ms) {
                scratch.clear();
                // The length keeps a byte from moving between key and value unseen.
                scratch.extend_from_slice(&(key.len() as u64).to_le_bytes());
                scratch.extend_from_slice(key);
                // Equal records may have two positions: two replicas may have logged one.
                match Record::position_at(value) {
                    Some((position, rest)) => {
                        scratch.push(value[0] & !FLAG_POSITION);
                        scratch.extend_from_slice(&value[1..position]);
                        scratch.extend_from_slice(&value[rest..]);
                    }
                    None => scratch.extend_from_slice(value),
                }
                digest = digest.join(Digest {
                    records: 1,
                    sum: xxh3_128(&scratch),
                });
            }
            iter.next();
        }
        match iter.status() {
            Ok(()) => Ok(digest),
            Err(error) => Err(inner.error(error)),
        }
    }
}
