//! Ingest: many records at once, as a file of their own, past log and memtable.

use std::sync::atomic::{AtomicU64, Ordering};

use rocksdb::{IngestExternalFileOptions, SstFileWriter};
use xxhash_rust::xxh3::xxh3_64;

use crate::open::NEWEST_KEY;
use crate::record::Record;
use crate::store::family;
use crate::{Entry, Store, StoreError, Version, files, key, stripes, tuning};

/// Names the files of all stores of a process apart.
static FILES: AtomicU64 = AtomicU64::new(0);

impl Store {
    /// Takes records of one partition, keys strictly ascending, which are on disk when this
    /// returns. Nothing that is applied while it runs may concern a key from the first to the last
    /// of them, and the store must hold none of these keys: they would be hidden. Answers false,
    /// and takes nothing, when the memtable holds something in between that would have to be
    /// flushed first: apply them then.
    ///
    /// It is no log record, but unlike one it needs none: a crash does not undo it. Before a
    /// restart can forget it, note the greatest version and tell it to [`Store::expect_versions`].
    ///
    /// Blocks its thread; what is applied meanwhile waits only while the file is taken over.
    ///
    /// # Errors
    /// [`StoreError::NoSpace`], [`StoreError::Io`]; nothing was taken then.
    pub fn ingest(&self, entries: &[Entry]) -> Result<bool, StoreError> {
        let inner = &*self.inner;
        let Some(newest) = entries.iter().map(|entry| entry.stamp.version).max() else {
            return Ok(true);
        };
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let path = inner.path.join(files::unfinished(number));
        let failed = |error| inner.error(error);
        let options = tuning::ingested(&inner.env);
        let mut writer = SstFileWriter::create(&options);
        writer.open(&path).map_err(failed)?;
        let mut key = Vec::new();
        let mut record = Vec::new();
        let mut hashes = Vec::with_capacity(entries.len());
        for entry in entries {
            key::check_keyspace(entry.keyspace)?;
            key::encode(&mut key, entry.keyspace, entry.partition, &entry.key);
            Record::encode(&mut record, entry);
            writer.put(&key, &record).map_err(failed)?;
            hashes.push((xxh3_64(&key), entry.stamp.version));
        }
        writer.finish().map_err(failed)?;
        let mut take = IngestExternalFileOptions::default();
        take.set_move_files(true);
        // A flush might put on disk what the log has not synced.
        take.set_allow_blocking_flush(false);
        let mut held = inner.writer();
        for (hash, version) in hashes {
            held.stripes.raise(hash, version);
        }
        if newest > held.bound {
            let bound = stripes::bound_above(newest);
            inner
                .db
                .put_cf_opt(
                    inner.meta()?,
                    NEWEST_KEY,
                    bound.0.to_le_bytes(),
                    &inner.write,
                )
                .map_err(failed)?;
            held.bound = bound;
        }
        let data = family(&inner.db, tuning::DATA)?;
        let taken = inner
            .db
            .ingest_external_file_cf_opts(data, &take, vec![&path]);
        drop(held);
        match taken {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == rocksdb::ErrorKind::InvalidArgument => {
                files::remove(&path)?;
                Ok(false)
            }
            Err(error) => Err(inner.error(error)),
        }
    }

    /// Makes sure that no put is taken for the newest without a look while it is not newer than
    /// `newest`.
    pub fn expect_versions(&self, newest: Version) {
        let mut writer = self.inner.writer();
        writer.stripes.raise_all(newest);
        writer.bound = writer.bound.max(newest);
    }
}
