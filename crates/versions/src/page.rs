//! Ranges of keys, page by page: of each the newest version up to a timestamp.

use bytes::Bytes;
use dunlin_entry::Version;

use crate::get::{damaged, decode};
use crate::key;
use crate::store::{Store, StoreError, in_order};

/// So many older versions of a key are passed by one by one; then it is cheaper to search.
const PASSED: usize = 8;

/// Values in key order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// Keys with versions and values; deleted keys are left out.
    pub items: Vec<(Bytes, Version, Bytes)>,
    /// Where the next page begins; none where this is the last.
    pub next: Option<Bytes>,
}

impl Store {
    /// The keys from `start` to before `end`, as they are at a timestamp; at least one, if there is one, and no more
    /// than `bytes` and `count` else. May wait for the disk.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn page(
        &self,
        place: u32,
        at: Version,
        (start, end): (&[u8], Option<&[u8]>),
        bytes: usize,
        count: usize,
    ) -> Result<Page, StoreError> {
        let mut options = in_order();
        let upper = match end {
            Some(end) => key::from_key(place, end),
            None => key::behind_versions(place).to_vec(),
        };
        options.set_iterate_upper_bound(upper);
        let mut rows = self.db.raw_iterator_opt(options);
        rows.seek(key::from_key(place, start));
        let mut page = Page::default();
        let mut taken = 0;
        let mut last: Vec<u8> = Vec::new();
        let mut passed = 0;
        while let Some((row, value)) = rows.item() {
            let (head, version) = key::split(row).ok_or_else(|| damaged("a row"))?;
            if head == last {
                passed += 1;
                if passed > PASSED {
                    let mut behind = last.clone();
                    behind.extend_from_slice(&[0xff; 9]);
                    rows.seek(behind);
                } else {
                    rows.next();
                }
                continue;
            }
            if version > at {
                let mut first = head.to_vec();
                first.extend_from_slice(&(!at.0).to_be_bytes());
                rows.seek(first);
                continue;
            }
            passed = 0;
            last.clear();
            last.extend_from_slice(head);
            if let Some(value) = decode(value).ok_or_else(|| damaged("a value"))? {
                let key = key::key_of(head).ok_or_else(|| damaged("a key"))?;
                if !page.items.is_empty() && (taken >= bytes || page.items.len() >= count) {
                    page.next = Some(key.into());
                    return Ok(page);
                }
                taken += key.len() + value.len();
                let value = Bytes::copy_from_slice(value);
                page.items.push((key.into(), version, value));
            }
            rows.next();
        }
        rows.status()?;
        Ok(page)
    }
}
