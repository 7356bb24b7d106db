//! A range from another replica: all versions, in a place of their own until they are whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use rocksdb::WriteBatch;

use crate::key;
use crate::meta::Meta;
use crate::store::{Store, StoreError, in_order, write_options};

/// A row without its place.
pub type Row = (Bytes, Bytes);

/// All rows of a place, as they are at one moment.
pub struct Rows {
    place: u32,
    next: Option<Vec<u8>>,
    /// The files and memory of that moment.
    meta: Meta,
    view: View,
    /// How many copies are being read.
    copies: Arc<AtomicUsize>,
}

impl Drop for Rows {
    fn drop(&mut self) {
        self.copies.fetch_sub(1, Ordering::Release);
    }
}

self_cell::self_cell!(
    struct View {
        owner: Store,
        #[covariant]
        dependent: Snapshot,
    }
);

type Snapshot<'a> = rocksdb::Snapshot<'a>;

impl Rows {
    /// What they reflect.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Whether all were given.
    pub fn is_over(&self) -> bool {
        self.next.is_none()
    }

    /// The next of them, about so many bytes; none when all were given. May wait for the disk.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn next(&mut self, bytes: usize) -> Result<Vec<Row>, StoreError> {
        let Some(from) = self.next.take() else {
            return Ok(Vec::new());
        };
        let mut options = in_order();
        options.set_iterate_upper_bound(key::of_place(self.place + 1));
        options.fill_cache(false);
        let mut rows = self.view.borrow_dependent().raw_iterator_opt(options);
        rows.seek(from);
        let mut taken = 0;
        let mut page = Vec::new();
        while let Some((row, value)) = rows.item() {
            if taken >= bytes {
                self.next = Some(row.to_vec());
                break;
            }
            taken += row.len() + value.len();
            let behind = Bytes::copy_from_slice(row.get(key::PREFIX..).unwrap_or_default());
            page.push((behind, Bytes::copy_from_slice(value)));
            rows.next();
        }
        rows.status()?;
        Ok(page)
    }
}

impl Store {
    /// All rows of a group as they are now.
    pub fn rows(&self, meta: &Meta) -> Rows {
        self.copies.fetch_add(1, Ordering::Release);
        let view = View::new(self.clone(), |store| store.db.snapshot());
        Rows {
            place: meta.place,
            next: Some(key::of_place(meta.place).to_vec()),
            meta: *meta,
            view,
            copies: self.copies.clone(),
        }
    }

    /// Puts rows of another replica into a place that no group has yet.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn load(&self, place: u32, rows: &[Row]) -> Result<(), StoreError> {
        let mut batch = WriteBatch::default();
        for (behind, value) in rows {
            let mut row = key::of_place(place).to_vec();
            row.extend_from_slice(behind);
            batch.put(row, value);
        }
        Ok(self.db.write_opt(batch, &write_options())?)
    }
}
