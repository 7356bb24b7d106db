//! Merge: a keyspace's records in key order over all its partitions.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Bound;

use bytes::Bytes;
use rocksdb::DBRawIterator;
use self_cell::self_cell;

use crate::changes::Mark;
use crate::record::Record;
use crate::scan::{Room, bounded, current, range};
use crate::store::{Inner, family};
use crate::{Page, Snapshot, Store, StoreError, Versioned, key, tuning};

/// A larger value is read again when its turn comes: until then neither it nor the block it
/// stands in is held, or memory would grow with the number of partitions times the largest value.
const HELD_BYTES: usize = 16 << 10;

/// Read at once beyond a block. RocksDB would read more and more, up to 256 KiB, which each of the
/// partitions' iterators keeps.
const READ_AHEAD_BYTES: usize = 16 << 10;
/// About what an open iterator takes over a few files, with blocks of small records.
const ITERATOR_BYTES: usize = 64 << 10;

type Sources<'a> = Vec<Source<'a>>;

/// One partition's part of the range.
struct Source<'a> {
    partition: u16,
    /// The RocksDB key behind the last.
    end: Vec<u8>,
    /// On the head's record; `None` when there is none, or while it waits with a large value.
    iter: Option<DBRawIterator<'a>>,
}

self_cell!(
    struct MergeCell {
        owner: Snapshot,
        #[covariant]
        dependent: Sources,
    }
);

/// A walk over a frozen view of a keyspace. It stays open between pages, so that a page costs
/// only its records; it is `Send`, so that pages can be read off the event loop. It pins memory
/// and files while it lives.
pub struct Merge {
    cell: MergeCell,
    keyspace: u32,
    /// From before the view was frozen.
    mark: Mark,
    /// The record each unfinished source stands on, the least key on top.
    heads: BinaryHeap<Reverse<Head>>,
}

/// Ordered by key, then by source.
struct Head {
    key: Bytes,
    source: usize,
    /// Length of its value.
    bytes: usize,
    /// `None` when that is to be read again.
    versioned: Option<Versioned>,
}

impl Store {
    /// Begins a walk from `start` to `end` over the keyspace's `partitions`, or over all of them.
    /// May wait for the disk.
    ///
    /// # Errors
    /// As [`Store::scan_page`].
    pub fn merge(
        &self,
        keyspace: u32,
        partitions: Option<&[u16]>,
        start: Bound<&[u8]>,
        end: Bound<&[u8]>,
    ) -> Result<Merge, StoreError> {
        let mark = self.inner.writer().changes.mark(keyspace);
        Merge::new(self.snapshot(), mark, keyspace, partitions, start, end)
    }
}

impl Merge {
    fn new(
        snapshot: Snapshot,
        mark: Mark,
        keyspace: u32,
        partitions: Option<&[u16]>,
        start: Bound<&[u8]>,
        end: Bound<&[u8]>,
    ) -> Result<Self, StoreError> {
        key::check_keyspace(keyspace)?;
        let partitions = match partitions {
            Some(partitions) => partitions.to_vec(),
            None => snapshot.partitions(keyspace)?,
        };
        let mut merge = Self {
            heads: BinaryHeap::with_capacity(partitions.len()),
            keyspace,
            mark,
            cell: MergeCell::new(snapshot, |_| Vec::new()),
        };
        merge.cell.with_dependent(|snapshot, _| {
            cache_indexes(snapshot.inner(), keyspace, &partitions, start, end)
        })?;
        let heads = &mut merge.heads;
        merge.cell.with_dependent_mut(|snapshot, sources| {
            for partition in partitions {
                let (from, end) = range(keyspace, partition, start, end);
                if from >= end {
                    continue;
                }
                let mut source = Source {
                    partition,
                    end,
                    iter: None,
                };
                source.seek(snapshot, &from);
                heads.extend(source.head(snapshot.inner(), sources.len())?.map(Reverse));
                sources.push(source);
            }
            Ok(())
        })?;
        Ok(merge)
    }

    /// Index of the last log record whose effect the view holds.
    pub fn applied(&self) -> u64 {
        self.cell.borrow_owner().applied()
    }

    /// Whether nothing of the keyspace has changed since: what is left to read is what a walk that
    /// began now would find.
    pub fn is_current(&self) -> bool {
        let inner = self.cell.borrow_owner().inner();
        inner.writer().changes.mark(self.keyspace) == self.mark
    }

    /// About how many bytes it keeps in memory.
    pub fn held_bytes(&self) -> usize {
        let heads = self.heads.iter().map(|Reverse(head)| {
            let value = head.versioned.as_ref().map_or(0, |held| held.value.len());
            // With the value, its block.
            head.key.len() + 2 * value
        });
        let sources = self.cell.borrow_dependent().iter();
        let open = sources.filter(|source| source.iter.is_some()).count();
        heads.sum::<usize>() + open * ITERATOR_BYTES
    }

    /// The next records in key order, limited as by [`Store::scan_page`]. At the end the page is
    /// empty. `next` is only a hint here: the walk remembers its place.
    ///
    /// # Errors
    /// As [`Store::scan_page`]; the walk is then of no further use.
    pub fn page(&mut self, max_items: usize, max_bytes: usize) -> Result<Page, StoreError> {
        let (heads, keyspace) = (&mut self.heads, self.keyspace);
        self.cell.with_dependent_mut(|snapshot, sources| {
            let inner = snapshot.inner();
            let mut page = Page::default();
            let mut room = Room::new(max_items, max_bytes);
            while let Some(mut top) = heads.peek_mut() {
                if !room.has(top.0.key.len() + top.0.bytes) {
                    page.next = Some(top.0.key.clone());
                    break;
                }
                let at = top.0.source;
                let source = &mut sources[at];
                let mut versioned = top.0.versioned.take();
                if versioned.is_none() {
                    versioned = source.read(snapshot, keyspace, &top.0.key)?;
                }
                let next = source.next(inner, at, versioned.is_some())?;
                let taken = match next {
                    Some(next) => std::mem::replace(&mut top.0, next),
                    None => PeekMut::pop(top).0,
                };
                if let Some(versioned) = versioned {
                    room.take(taken.key.len() + versioned.value.len());
                    page.items.push((taken.key, versioned));
                }
            }
            Ok(page)
        })
    }
}

/// Brings the indexes of the tables that begin the partitions into the cache. Reads that leave the
/// cache alone would not find room for them there: each iterator would read one of its own, which
/// is larger than all else that it needs.
fn cache_indexes(
    inner: &Inner,
    keyspace: u32,
    partitions: &[u16],
    start: Bound<&[u8]>,
    end: Bound<&[u8]>,
) -> Result<(), StoreError> {
    let bounds: Vec<(Vec<u8>, Vec<u8>)> = partitions
        .iter()
        .map(|partition| range(keyspace, *partition, start, end))
        .filter(|(from, to)| from < to)
        .collect();
    let ranges: Vec<rocksdb::Range<'_>> = bounds
        .iter()
        .map(|(from, to)| rocksdb::Range::new(from, to))
        .collect();
    // It asks the indexes, and nothing else.
    inner
        .db
        .get_approximate_sizes_cf(family(&inner.db, tuning::DATA)?, &ranges);
    Ok(())
}

impl<'a> Source<'a> {
    fn seek(&mut self, snapshot: &'a Snapshot, from: &[u8]) {
        let mut read = bounded(tuning::read_bulk(), self.end.clone());
        read.set_readahead_size(READ_AHEAD_BYTES);
        let mut iter = snapshot.iterate(read);
        iter.seek(from);
        self.iter = Some(iter);
    }

    /// Reads the value of `key` again; `None` when it is gone: what has outlived its grace or its
    /// time goes from frozen views, too.
    fn read(
        &mut self,
        snapshot: &'a Snapshot,
        keyspace: u32,
        key: &[u8],
    ) -> Result<Option<Versioned>, StoreError> {
        let mut full = Vec::new();
        key::encode(&mut full, keyspace, self.partition, key);
        self.seek(snapshot, &full);
        let inner = snapshot.inner();
        match self.record(inner)? {
            Some((found, record)) if found == key => Ok(Some(record.to_versioned())),
            _ => Ok(None),
        }
    }

    /// The next record's head. Whether the iterator stands on the record before it, or on it
    /// already, `is_before` tells.
    fn next(
        &mut self,
        inner: &Inner,
        at: usize,
        is_before: bool,
    ) -> Result<Option<Head>, StoreError> {
        if let Some(iter) = self.iter.as_mut().filter(|_| is_before) {
            iter.next();
        }
        self.head(inner, at)
    }

    /// The head of the record the iterator stands on.
    fn head(&mut self, inner: &Inner, at: usize) -> Result<Option<Head>, StoreError> {
        let head = self.record(inner)?.map(|(key, record)| Head {
            key: Bytes::copy_from_slice(key),
            source: at,
            bytes: record.value.len(),
            versioned: (record.value.len() <= HELD_BYTES).then(|| record.to_versioned()),
        });
        if head.as_ref().is_none_or(|head| head.versioned.is_none()) {
            self.iter = None;
        }
        Ok(head)
    }

    fn record(&self, inner: &Inner) -> Result<Option<(&[u8], Record<'_>)>, StoreError> {
        match &self.iter {
            Some(iter) => current(inner, iter),
            None => Ok(None),
        }
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key
            .cmp(&other.key)
            .then(self.source.cmp(&other.source))
    }
}
