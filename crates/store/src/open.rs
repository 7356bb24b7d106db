//! Open: from a directory to a store, or a reason why not.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use dunlin_entry::{DecodeError, Version};
use rocksdb::{ColumnFamilyDescriptor, DB, IteratorMode, WriteBatch};

use crate::changes::Changes;
use crate::store::{Inner, Writer, damaged, family};
use crate::stripes::Stripes;
use crate::tuning::{self, DATA, EXPIRY, FAMILIES, META, NEVER_FLUSH_BYTES};
use crate::{Store, StoreError, StoreOptions, files, spare};

const FORMAT: u32 = 1;
const FORMAT_KEY: &[u8] = b"format";
pub(crate) const APPLIED_KEY: &[u8] = b"applied";
pub(crate) const NEWEST_KEY: &[u8] = b"newest";
pub(crate) const SWEPT_KEY: &[u8] = b"swept";

impl Store {
    /// Opens the store at `path`, or makes an empty one. Reads no data, so it is quick whatever
    /// the size.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when the manifest or a table file is missing or not as written,
    /// [`StoreError::Format`] for another version's data, [`StoreError::InUse`] when it is open
    /// already, [`StoreError::NoSpace`] or [`StoreError::Io`] from the file system.
    pub fn open(path: impl AsRef<Path>, options: &StoreOptions) -> Result<Store, StoreError> {
        let path = path.as_ref();
        files::check(path)?;
        let clock_ms = Arc::new(AtomicU64::new((options.now_ms)()));
        let (db, has_spare) = match database(path, options, &clock_ms) {
            Err(StoreError::NoSpace { .. }) if spare::give(path) => {
                // Held back again once a flush has found room.
                (database(path, options, &clock_ms)?, false)
            }
            opened => (opened?, spare::hold(path)),
        };
        let applied = number(&db, path, APPLIED_KEY)?;
        check_format(&db, path, applied)?;
        let bound = Version(number(&db, path, NEWEST_KEY)?.unwrap_or(0));
        let applied = applied.unwrap_or(0);
        Ok(Store {
            inner: Arc::new(Inner {
                db,
                path: path.to_path_buf(),
                env: options.shared.env.clone(),
                grace: options.tombstone_grace.clone(),
                now_ms: options.now_ms.clone(),
                clock_ms,
                read_memory: tuning::read_memory(),
                read_disk: tuning::read_disk(),
                write: tuning::write(),
                applied: AtomicU64::new(applied),
                flushed: AtomicU64::new(applied),
                flushing: AtomicU64::new(applied),
                has_spare: AtomicBool::new(has_spare),
                memtable_bytes: AtomicU64::new(0),
                rows: options.shared.rows(),
                writer: Mutex::new(Writer {
                    stripes: Stripes::new(bound),
                    changes: Changes::default(),
                    bound,
                    key: Vec::new(),
                    record: Vec::new(),
                }),
            }),
        })
    }
}

/// Opens RocksDB.
fn database(
    path: &Path,
    options: &StoreOptions,
    clock_ms: &Arc<AtomicU64>,
) -> Result<DB, StoreError> {
    let refused = |error| StoreError::of(path, error);
    let db = DB::open_cf_descriptors(
        &tuning::database(options).map_err(refused)?,
        path,
        [
            ColumnFamilyDescriptor::new(
                DATA,
                tuning::data(options, clock_ms.clone()).map_err(refused)?,
            ),
            ColumnFamilyDescriptor::new(META, tuning::beside(options)),
            ColumnFamilyDescriptor::new(EXPIRY, tuning::beside(options)),
        ],
    )
    .map_err(refused)?;
    for name in FAMILIES {
        let handle = family(&db, name)?;
        db.set_options_cf(handle, &[("write_buffer_size", NEVER_FLUSH_BYTES)])
            .map_err(refused)?;
    }
    Ok(db)
}

/// A little-endian `u64` of the meta column family.
pub(crate) fn number(db: &DB, path: &Path, key: &[u8]) -> Result<Option<u64>, StoreError> {
    let bytes = db
        .get_pinned_cf_opt(family(db, META)?, key, &tuning::read_disk())
        .map_err(|error| StoreError::of(path, error))?;
    let Some(bytes) = bytes else { return Ok(None) };
    match <[u8; 8]>::try_from(&bytes[..]) {
        Ok(word) => Ok(Some(u64::from_le_bytes(word))),
        Err(_) => Err(damaged(
            path,
            &DecodeError::Short {
                what: "a position",
                need: 8,
                have: bytes.len(),
            },
        )),
    }
}

/// Refuses another format. An empty store is given this one, which the first flush makes durable.
fn check_format(db: &DB, path: &Path, applied: Option<u64>) -> Result<(), StoreError> {
    let refused = |error| StoreError::of(path, error);
    let meta = family(db, META)?;
    let found = db
        .get_pinned_cf_opt(meta, FORMAT_KEY, &tuning::read_disk())
        .map_err(refused)?;
    if let Some(bytes) = found {
        return match <[u8; 4]>::try_from(&bytes[..]).map(u32::from_le_bytes) {
            Ok(FORMAT) => Ok(()),
            Ok(found) => Err(StoreError::Format {
                path: path.to_path_buf(),
                found,
            }),
            Err(_) => Err(damaged(
                path,
                &DecodeError::Short {
                    what: "the format number",
                    need: 4,
                    have: bytes.len(),
                },
            )),
        };
    }
    let holds_data = match db.iterator(IteratorMode::Start).next() {
        Some(first) => first.map(|_| true).map_err(refused)?,
        None => false,
    };
    if applied.is_some() || holds_data {
        return Err(StoreError::Damaged {
            file: path.to_path_buf(),
            detail: "there is data but no format number".to_owned(),
        });
    }
    let mut batch = WriteBatch::default();
    batch.put_cf(meta, FORMAT_KEY, FORMAT.to_le_bytes());
    db.write_opt(batch, &tuning::write()).map_err(refused)
}
