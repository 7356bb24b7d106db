//! Scan: a partition's records in key order, a page at a time.

use std::ops::Bound;

use bytes::Bytes;
use rocksdb::{DBRawIterator, ReadOptions};

use crate::record::Record;
use crate::store::Inner;
use crate::{Snapshot, Store, StoreError, Versioned, key, tuning};

/// Some records in key order, tombstones and expired values among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// User keys with their records.
    pub items: Vec<(Bytes, Versioned)>,
    /// The first key that did not fit: start the next page there, inclusively. `None` at the end.
    pub next: Option<Bytes>,
}

/// What a record counts for beside its key and value where bytes are limited.
const RECORD_BYTES: usize = 32;

/// Some records of a partition that were wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// They, and where to go on.
    pub page: Page,
    /// Bytes that were looked at.
    pub read_bytes: usize,
}

impl Store {
    /// Reads up to `max_items` records of at most `max_bytes` bytes of keys and values together,
    /// but always one when there is one, from `start` to `end`. Pages of one `snapshot` fit
    /// together; without one each page is the latest state. May wait for the disk.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when a block's checksum is wrong, [`StoreError::Io`],
    /// [`StoreError::ReservedKeyspace`].
    #[allow(clippy::too_many_arguments)]
    pub fn scan_page(
        &self,
        keyspace: u32,
        partition: u16,
        start: Bound<&[u8]>,
        end: Bound<&[u8]>,
        max_items: usize,
        max_bytes: usize,
        snapshot: Option<&Snapshot>,
    ) -> Result<Page, StoreError> {
        let mut items = Vec::new();
        let range = Range {
            keyspace,
            partition,
            start,
            end,
        };
        let take = |key: &[u8], record: Record<'_>| {
            items.push((Bytes::copy_from_slice(key), record.to_versioned()));
        };
        let next = self.walk(range, max_items, max_bytes, snapshot, take)?;
        Ok(Page { items, next })
    }

    /// As [`Store::scan_page`] of the latest state, from `start` to the partition's end, but shows the
    /// records where they are. Answers the first key that did not fit.
    ///
    /// # Errors
    /// As [`Store::scan_page`].
    pub fn scan_records(
        &self,
        keyspace: u32,
        partition: u16,
        start: &[u8],
        max_items: usize,
        max_bytes: usize,
        take: impl FnMut(&[u8], Record<'_>),
    ) -> Result<Option<Bytes>, StoreError> {
        let range = Range {
            keyspace,
            partition,
            start: Bound::Included(start),
            end: Bound::Unbounded,
        };
        self.walk(range, max_items, max_bytes, None, take)
    }

    /// Reads on in a partition from `start` and takes what `wants` wants, until `room_bytes` of that are
    /// there or `look_bytes` were looked at; at least one record is looked at. Leaves the cache alone:
    /// most of what it reads nobody asked for.
    ///
    /// # Errors
    /// As [`Store::scan_page`].
    pub fn scan_wanted(
        &self,
        keyspace: u32,
        partition: u16,
        start: &[u8],
        look_bytes: usize,
        room_bytes: usize,
        wants: impl Fn(&Record<'_>) -> bool,
    ) -> Result<Wanted, StoreError> {
        key::check_keyspace(keyspace)?;
        let (from, to) = range(
            keyspace,
            partition,
            Bound::Included(start),
            Bound::Unbounded,
        );
        let inner = &*self.inner;
        let mut iter = inner.db.raw_iterator_opt(bounded(tuning::read_bulk(), to));
        iter.seek(&from);
        let mut page = Page::default();
        let (mut read_bytes, mut taken_bytes) = (0, 0);
        while let Some((key, record)) = current(inner, &iter)? {
            if read_bytes >= look_bytes || taken_bytes >= room_bytes {
                page.next = Some(Bytes::copy_from_slice(key));
                break;
            }
            let bytes = key.len() + record.value.len();
            // Small records cost a look, too.
            read_bytes += bytes + RECORD_BYTES;
            if wants(&record) {
                taken_bytes += bytes + RECORD_BYTES;
                page.items
                    .push((Bytes::copy_from_slice(key), record.to_versioned()));
            }
            iter.next();
        }
        Ok(Wanted { page, read_bytes })
    }

    fn walk(
        &self,
        asked: Range<'_>,
        max_items: usize,
        max_bytes: usize,
        snapshot: Option<&Snapshot>,
        mut take: impl FnMut(&[u8], Record<'_>),
    ) -> Result<Option<Bytes>, StoreError> {
        key::check_keyspace(asked.keyspace)?;
        let (from, to) = range(asked.keyspace, asked.partition, asked.start, asked.end);
        if from >= to {
            return Ok(None);
        }
        let inner = &*self.inner;
        let mut iter = match snapshot {
            // A walk over much data: leave the cache alone.
            Some(snapshot) => snapshot.iterate(bounded(tuning::read_bulk(), to)),
            None => inner.db.raw_iterator_opt(bounded(tuning::read_disk(), to)),
        };
        iter.seek(&from);
        let mut room = Room::new(max_items, max_bytes);
        while let Some((key, record)) = current(inner, &iter)? {
            let bytes = key.len() + record.value.len();
            if !room.has(bytes) {
                return Ok(Some(Bytes::copy_from_slice(key)));
            }
            room.take(bytes);
            take(key, record);
            iter.next();
        }
        Ok(None)
    }
}

/// User keys of one partition.
struct Range<'a> {
    keyspace: u32,
    partition: u16,
    start: Bound<&'a [u8]>,
    end: Bound<&'a [u8]>,
}

/// What is left of a page's limits.
pub(crate) struct Room {
    items: usize,
    bytes: usize,
    empty: bool,
}

impl Room {
    pub fn new(max_items: usize, max_bytes: usize) -> Self {
        Self {
            items: max_items,
            bytes: max_bytes,
            empty: true,
        }
    }

    /// Whether a record of so many bytes still fits. The first always does, or a scan would never
    /// end.
    pub fn has(&self, bytes: usize) -> bool {
        self.empty || (self.items > 0 && self.bytes >= bytes)
    }

    /// A record of so many bytes was put in.
    pub fn take(&mut self, bytes: usize) {
        self.empty = false;
        self.items = self.items.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

/// The RocksDB keys that bound a range of user keys: from the first inclusively to the second
/// exclusively.
pub(crate) fn range(
    keyspace: u32,
    partition: u16,
    start: Bound<&[u8]>,
    end: Bound<&[u8]>,
) -> (Vec<u8>, Vec<u8>) {
    let full = |user: &[u8], past: bool| {
        let mut bytes = Vec::with_capacity(key::PREFIX_BYTES + user.len() + 1);
        key::encode(&mut bytes, keyspace, partition, user);
        if past {
            // The next possible key.
            bytes.push(0);
        }
        bytes
    };
    let from = match start {
        Bound::Included(user) => full(user, false),
        Bound::Excluded(user) => full(user, true),
        Bound::Unbounded => full(b"", false),
    };
    let to = match end {
        Bound::Included(user) => full(user, true),
        Bound::Excluded(user) => full(user, false),
        Bound::Unbounded => key::after(keyspace, partition).to_vec(),
    };
    (from, to)
}

/// Stops iteration before `to`.
pub(crate) fn bounded(mut read: ReadOptions, to: Vec<u8>) -> ReadOptions {
    read.set_iterate_upper_bound(to);
    read
}

/// The user key and the record an iterator stands on; `None` past the last.
pub(crate) fn current<'i>(
    inner: &Inner,
    iter: &'i DBRawIterator<'_>,
) -> Result<Option<(&'i [u8], Record<'i>)>, StoreError> {
    let Some((key, value)) = iter.item() else {
        return match iter.status() {
            Ok(()) => Ok(None),
            Err(error) => Err(inner.error(error)),
        };
    };
    let user = key.get(key::PREFIX_BYTES..).unwrap_or_default();
    match Record::decode(value) {
        Ok(record) => Ok(Some((user, record))),
        Err(error) => Err(inner.damaged(&error)),
    }
}
