//! Ingest: many records at once, as a file of their own, past log and memtable.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use dunlin_entry::{Entry, Version};
use rocksdb::{IngestExternalFileOptions, SstFileWriter};
use xxhash_rust::xxh3::xxh3_64;

use crate::open::NEWEST_KEY;
use crate::record::Record;
use crate::store::family;
use crate::{Store, StoreError, files, key, stripes, tuning};

/// Names the files of all stores of a process apart.
static FILES: AtomicU64 = AtomicU64::new(0);

/// Records in a file that the store may take over. Dropped, the file goes.
pub struct Ingestible {
    path: PathBuf,
    hashes: Vec<(u64, Version)>,
}

impl Drop for Ingestible {
    fn drop(&mut self) {
        // One that was taken over is gone; one that stays is removed at the next opening.
        drop(files::remove(&self.path));
    }
}

impl Store {
    /// Writes records of one partition, keys strictly ascending, into a file. Blocks its thread.
    ///
    /// # Errors
    /// [`StoreError::NoSpace`], [`StoreError::Io`]; nothing stays behind then.
    pub fn ingest_prepare(&self, entries: &[Entry]) -> Result<Ingestible, StoreError> {
        let inner = &*self.inner;
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let mut ready = Ingestible {
            path: inner.path.join(files::unfinished(number)),
            hashes: Vec::with_capacity(entries.len()),
        };
        let failed = |error| inner.error(error);
        let options = tuning::ingested(&inner.env);
        let mut writer = SstFileWriter::create(&options);
        writer.open(&ready.path).map_err(failed)?;
        let mut key = Vec::new();
        let mut record = Vec::new();
        for entry in entries {
            key::check_keyspace(entry.keyspace)?;
            key::encode(&mut key, entry.keyspace, entry.partition, &entry.key);
            Record::encode(&mut record, entry);
            writer.put(&key, &record).map_err(failed)?;
            ready.hashes.push((xxh3_64(&key), entry.rank().height()));
        }
        writer.finish().map_err(failed)?;
        Ok(ready)
    }

    /// Takes files over, all or none, which are on disk when this returns. The store must hold nothing
    /// from the first to the last key of any, and nothing there may be applied meanwhile: it would be
    /// hidden. Answers false, and takes nothing, when the memtable holds something in between that
    /// would have to be flushed first: apply the records then.
    ///
    /// They are no log records, and need none: a crash does not undo them. What a crash does undo is the
    /// store's knowledge of the greatest version: note that before, and tell it to
    /// [`Store::expect_versions`] after a restart. Blocks its thread.
    ///
    /// # Errors
    /// [`StoreError::NoSpace`], [`StoreError::Io`]; nothing was taken then.
    pub fn ingest(&self, ready: &[Ingestible]) -> Result<bool, StoreError> {
        let inner = &*self.inner;
        let hashes = || ready.iter().flat_map(|file| &file.hashes);
        let Some(newest) = hashes().map(|(_, version)| *version).max() else {
            return Ok(true);
        };
        let failed = |error| inner.error(error);
        let mut take = IngestExternalFileOptions::default();
        take.set_move_files(true);
        // A flush might put on disk what the log has not synced.
        take.set_allow_blocking_flush(false);
        let mut held = inner.writer();
        for (hash, version) in hashes() {
            held.stripes.raise(*hash, *version);
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
        // RocksDB syncs each file. Writers need not wait for that: of those keys there is none.
        drop(held);
        let data = family(&inner.db, tuning::DATA)?;
        let paths = ready.iter().map(|file| &file.path).collect();
        let taken = inner.db.ingest_external_file_cf_opts(data, &take, paths);
        inner.writer().changes.of_any();
        match taken {
            Ok(()) => {
                for (hash, _) in hashes() {
                    inner.rows.forget(*hash);
                }
                Ok(true)
            }
            Err(error) if error.kind() == rocksdb::ErrorKind::InvalidArgument => Ok(false),
            Err(error) => Err(inner.error(error)),
        }
    }

    /// Makes sure that no put is taken for the newest without a look while it is not newer than
    /// `newest`.
    pub fn expect_versions(&self, newest: Version) {
        // The stored bound stays: it is to be written again by what passes it.
        self.inner.writer().stripes.raise_all(newest);
    }
}
