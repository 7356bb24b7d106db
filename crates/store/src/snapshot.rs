//! Snapshot: the store as it was at one moment.

use std::sync::Arc;

use rocksdb::{DBRawIterator, ReadOptions};
use self_cell::self_cell;

use crate::store::Inner;
use crate::{Store, StoreError, key, tuning};

type Frozen<'a> = rocksdb::Snapshot<'a>;

self_cell!(
    struct SnapshotCell {
        owner: Arc<Inner>,
        #[covariant]
        dependent: Frozen,
    }
);

/// A view that later writes do not change. Cheap to make and to clone; while it lives, what it
/// shows is not compacted away (except tombstones that have outlived their grace), so let it go
/// when done.
#[derive(Clone)]
pub struct Snapshot {
    cell: Arc<SnapshotCell>,
    applied: u64,
}

impl Store {
    /// Freezes a view of the store.
    pub fn snapshot(&self) -> Snapshot {
        // Under the writer's lock, so that the applied position is the view's own.
        let _writer = self.inner.writer();
        Snapshot {
            applied: self.applied(),
            cell: Arc::new(SnapshotCell::new(self.inner.clone(), |inner| {
                inner.db.snapshot()
            })),
        }
    }
}

impl Snapshot {
    /// Index of the last log record whose effect the view holds.
    pub fn applied(&self) -> u64 {
        self.applied
    }

    pub(crate) fn inner(&self) -> &Inner {
        self.cell.borrow_owner()
    }

    /// An iterator over the view's data.
    pub(crate) fn iterate(&self, read: ReadOptions) -> DBRawIterator<'_> {
        self.cell.borrow_dependent().raw_iterator_opt(read)
    }

    /// The keyspace's partitions that hold records, ascending.
    pub(crate) fn partitions(&self, keyspace: u32) -> Result<Vec<u16>, StoreError> {
        let mut read = tuning::read_disk();
        read.set_iterate_upper_bound(key::after(keyspace, u16::MAX).to_vec());
        let mut iter = self.iterate(read);
        iter.seek(key::prefix(keyspace, 0));
        let mut partitions = Vec::new();
        while let Some((_, partition, _)) = iter.key().and_then(key::decode) {
            partitions.push(partition);
            iter.seek(key::after(keyspace, partition));
        }
        match iter.status() {
            Ok(()) => Ok(partitions),
            Err(error) => Err(self.inner().error(error)),
        }
    }
}
