//! Ranges of keys, page by page: of each the newest version up to a timestamp.

use bytes::Bytes;
use dunlin_entry::Version;
use rocksdb::{DBRawIterator, ReadTier};

use crate::get::{Tier, damaged, decode};
use crate::key;
use crate::store::{Store, StoreError, in_order, is_incomplete};
use crate::worn::PASSED_MIN;

/// Keys from the first to before the second.
type Span<'a> = (&'a [u8], Option<&'a [u8]>);

/// So many older versions of a key are passed by one by one; then it is cheaper to search.
const PASSED: usize = 8;
/// An event loop passes by so many rows for a page at most.
const PASSED_IN_MEMORY: usize = 1_024;

/// Values in key order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// Keys with versions and values; deleted keys are left out.
    pub items: Vec<(Bytes, Version, Bytes)>,
    /// Where the next page begins; none where this is the last.
    pub next: Option<Bytes>,
}

/// How large a page may be, and how far a read of it may go.
#[derive(Debug, Clone, Copy)]
pub struct PageBounds {
    /// Bytes of keys and values, but for the last.
    pub bytes: usize,
    /// Keys.
    pub count: usize,
    /// Memory or the disk.
    pub tier: Tier,
}

impl Store {
    /// A key from `start` to before `end` that has a version above `since` and up to `at`. May wait for the disk.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn changed(
        &self,
        place: u32,
        (since, at): (Version, Version),
        (start, end): Span<'_>,
    ) -> Result<Option<Bytes>, StoreError> {
        let mut rows = self.in_span(place, (start, end), Tier::Disk);
        let mut passed = 0;
        let mut last: Vec<u8> = Vec::new();
        while let Some((row, _)) = rows.item() {
            let (head, version) = key::split(row).ok_or_else(|| damaged("a row"))?;
            if version > at {
                rows.seek(row_at(head, at));
                continue;
            }
            if version > since {
                let key = key::key_of(head).ok_or_else(|| damaged("a key"))?;
                return Ok(Some(key.into()));
            }
            if head != last {
                (last, passed) = (head.to_vec(), 0);
            }
            passed += 1;
            if passed > PASSED {
                rows.seek(behind(&last));
            } else {
                rows.next();
            }
        }
        rows.status()?;
        Ok(None)
    }

    /// All versions of keys, in order.
    fn in_span(&self, place: u32, (start, end): Span<'_>, tier: Tier) -> DBRawIterator<'_> {
        let mut options = in_order();
        if tier == Tier::CacheOnly {
            options.set_read_tier(ReadTier::BlockCache);
        }
        let upper = match end {
            Some(end) => key::from_key(place, end),
            None => key::behind_versions(place).to_vec(),
        };
        options.set_iterate_upper_bound(upper);
        let mut rows = self.db.raw_iterator_opt(options);
        rows.seek(key::from_key(place, start));
        rows
    }

    /// The keys from `start` to before `end`, as they are at a timestamp; at least one, if there is one, and else no more
    /// than the bounds say. None where memory does not tell, or not soon: ask again with [`Tier::Disk`].
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn page(
        &self,
        place: u32,
        at: Version,
        span: Span<'_>,
        bounds: PageBounds,
    ) -> Result<Option<Page>, StoreError> {
        let PageBounds { bytes, count, tier } = bounds;
        let mut rows = self.in_span(place, span, tier);
        let mut seen = 0;
        let mut page = Page::default();
        let mut taken = 0;
        let mut last: Vec<u8> = Vec::new();
        let mut passed = 0;
        let mut deletes = Deletes::default();
        while let Some((row, value)) = rows.item() {
            seen += 1;
            if tier == Tier::CacheOnly && seen > count + PASSED_IN_MEMORY {
                return Ok(None);
            }
            let (head, version) = key::split(row).ok_or_else(|| damaged("a row"))?;
            if head == last {
                passed += 1;
                if passed > PASSED {
                    rows.seek(behind(&last));
                } else {
                    rows.next();
                }
                continue;
            }
            if version > at {
                rows.seek(row_at(head, at));
                continue;
            }
            passed = 0;
            last.clear();
            last.extend_from_slice(head);
            if let Some(value) = decode(value).ok_or_else(|| damaged("a value"))? {
                let key = key::key_of(head).ok_or_else(|| damaged("a key"))?;
                if !page.items.is_empty() && (taken >= bytes || page.items.len() >= count) {
                    page.next = Some(key.into());
                    self.note_deletes(place, span, &deletes, Some(row));
                    return Ok(Some(page));
                }
                taken += key.len() + value.len();
                let value = Bytes::copy_from_slice(value);
                page.items.push((key.into(), version, value));
            } else {
                deletes.count(version);
            }
            rows.next();
        }
        match rows.status() {
            Err(error) if tier == Tier::CacheOnly && is_incomplete(&error) => Ok(None),
            Err(error) => Err(error.into()),
            Ok(()) => {
                self.note_deletes(place, span, &deletes, None);
                Ok(Some(page))
            }
        }
    }

    /// Notes deletes that a page has passed by, up to a row or to the end of its span.
    fn note_deletes(
        &self,
        place: u32,
        (start, end): Span<'_>,
        deletes: &Deletes,
        up_to: Option<&[u8]>,
    ) {
        let Some(of) = deletes.many() else { return };
        let to = match (up_to, end) {
            (Some(row), _) => row.to_vec(),
            (None, Some(end)) => key::from_key(place, end),
            (None, None) => key::behind_versions(place).to_vec(),
        };
        self.note_worn(place, (key::from_key(place, start), to), of);
    }
}

/// Deletes that a page passes by.
#[derive(Default)]
struct Deletes {
    count: usize,
    oldest: Option<Version>,
    newest: Version,
}

impl Deletes {
    fn count(&mut self, version: Version) {
        self.count += 1;
        self.oldest = Some(self.oldest.map_or(version, |oldest| oldest.min(version)));
        self.newest = self.newest.max(version);
    }

    /// The oldest and the newest, where there are many.
    fn many(&self) -> Option<(Version, Version)> {
        let oldest = self.oldest.filter(|_| self.count >= PASSED_MIN)?;
        Some((oldest, self.newest))
    }
}

/// The row of a key at a timestamp, or the newest before.
fn row_at(head: &[u8], at: Version) -> Vec<u8> {
    [head, &(!at.0).to_be_bytes()].concat()
}

/// Behind all rows of a key.
fn behind(head: &[u8]) -> Vec<u8> {
    [head, &[0xff; 9]].concat()
}
