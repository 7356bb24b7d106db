//! Merge: a keyspace's records in key order over all its partitions.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Bound;

use bytes::Bytes;
use rocksdb::DBRawIterator;
use self_cell::self_cell;

use crate::scan::{Room, bounded, current, range};
use crate::store::Inner;
use crate::{Page, Snapshot, Store, StoreError, Versioned, key, tuning};

type Sources<'a> = Vec<DBRawIterator<'a>>;

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
    /// The record each unfinished source stands on, the least key on top.
    heads: BinaryHeap<Reverse<Head>>,
}

/// Ordered by key, then by source.
struct Head {
    key: Bytes,
    source: usize,
    versioned: Versioned,
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
        Merge::new(self.snapshot(), keyspace, partitions, start, end)
    }
}

impl Merge {
    fn new(
        snapshot: Snapshot,
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
            cell: MergeCell::new(snapshot, |snapshot| {
                partitions
                    .iter()
                    .map(|partition| range(keyspace, *partition, start, end))
                    .filter(|(from, to)| from < to)
                    .map(|(from, to)| {
                        let mut iter = snapshot.iterate(bounded(tuning::read_bulk(), to));
                        iter.seek(from);
                        iter
                    })
                    .collect()
            }),
        };
        let heads = &mut merge.heads;
        merge.cell.with_dependent(|snapshot, sources| {
            for (source, iter) in sources.iter().enumerate() {
                heads.extend(head(snapshot.inner(), iter, source)?.map(Reverse));
            }
            Ok(())
        })?;
        Ok(merge)
    }

    /// Index of the last log record whose effect the view holds.
    pub fn applied(&self) -> u64 {
        self.cell.borrow_owner().applied()
    }

    /// The next records in key order, limited as by [`Store::scan_page`]. At the end the page is
    /// empty. `next` is only a hint here: the walk remembers its place.
    ///
    /// # Errors
    /// As [`Store::scan_page`]; the walk is then of no further use.
    pub fn page(&mut self, max_items: usize, max_bytes: usize) -> Result<Page, StoreError> {
        let heads = &mut self.heads;
        self.cell.with_dependent_mut(|snapshot, sources| {
            let mut page = Page::default();
            let mut room = Room::new(max_items, max_bytes);
            while let Some(mut top) = heads.peek_mut() {
                if !room.take(&top.0.key, &top.0.versioned) {
                    page.next = Some(top.0.key.clone());
                    break;
                }
                let source = top.0.source;
                let iter = &mut sources[source];
                iter.next();
                let taken = match head(snapshot.inner(), iter, source)? {
                    Some(next) => std::mem::replace(&mut top.0, next),
                    None => PeekMut::pop(top).0,
                };
                page.items.push((taken.key, taken.versioned));
            }
            Ok(page)
        })
    }
}

fn head(
    inner: &Inner,
    iter: &DBRawIterator<'_>,
    source: usize,
) -> Result<Option<Head>, StoreError> {
    Ok(current(inner, iter)?.map(|(key, versioned)| Head {
        key,
        source,
        versioned,
    }))
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
