//! Flush: from memory to SST files, when the caller says so and not before.
//!
//! The order that keeps a store from being ahead of its log: sync the log, `flush_begin`,
//! `flush_wait` (off the event loop), then release the log up to [`Store::flushed_applied`].

use std::fs::File;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use rocksdb::{FlushOptions, WriteBatch, properties};

use crate::store::{Inner, family};
use crate::tuning::FAMILIES;
use crate::{Store, StoreError, spare};

/// More switched memtables than this wait to be written: something is wrong with the disk, and
/// another one would bring RocksDB near to stopping writes.
const MAX_SWITCHED: u64 = 4;
/// Descriptors that must be free before a flush: its tables, their directory, a new manifest, and
/// what a compaction opens behind it.
const FLUSH_FILES: usize = 16;
const POLL_MIN: Duration = Duration::from_micros(500);
const POLL_MAX: Duration = Duration::from_millis(20);

impl Store {
    /// Roughly how many bytes of memory the entries applied since the last
    /// [`Store::flush_begin`] take.
    pub fn memtable_bytes(&self) -> u64 {
        self.inner.memtable_bytes.load(Ordering::Relaxed)
    }

    /// Switches to a new memtable now and has the old one written in the background. The log
    /// must be synced up to [`Store::applied`] before. Answers the position the flush will make
    /// durable.
    ///
    /// # Errors
    /// [`StoreError::Stalled`] when several flushes wait already; [`StoreError::NoFiles`] when there
    /// are too few descriptors for another; [`StoreError::NoSpace`], [`StoreError::Io`] or
    /// [`StoreError::Damaged`] when an earlier one failed.
    pub fn flush_begin(&self) -> Result<u64, StoreError> {
        let inner = &*self.inner;
        inner.tick();
        let _writer = inner.writer();
        inner.check_background()?;
        inner.check_descriptors()?;
        if inner.switched()? >= MAX_SWITCHED {
            return Err(StoreError::Stalled);
        }
        let mut options = FlushOptions::default();
        options.set_wait(false);
        let families: Vec<_> = FAMILIES
            .iter()
            .map(|name| family(&inner.db, name))
            .collect::<Result<_, _>>()?;
        inner
            .db
            .flush_cfs_opt(&families, &options)
            .map_err(|error| inner.error(error))?;
        let applied = self.applied();
        inner.flushing.store(applied, Ordering::Release);
        inner.memtable_bytes.store(0, Ordering::Relaxed);
        Ok(applied)
    }

    /// Waits until the flushes begun so far are on disk; answers [`Store::flushed_applied`].
    /// Blocks its thread.
    ///
    /// # Errors
    /// [`StoreError::NoSpace`] when the disk is full: nothing is lost, and waiting again succeeds
    /// once there has been room for some seconds. [`StoreError::Io`], [`StoreError::Damaged`].
    #[allow(
        clippy::disallowed_methods,
        reason = "it waits for RocksDB's threads, which no simulated clock steers"
    )]
    pub fn flush_wait(&self) -> Result<u64, StoreError> {
        let inner = &*self.inner;
        let target = inner.flushing.load(Ordering::Acquire);
        let mut pause = POLL_MIN;
        while inner.switched()? > 0 {
            inner.check_background()?;
            thread::sleep(pause);
            pause = (pause * 2).min(POLL_MAX);
        }
        inner.flushed.fetch_max(target, Ordering::AcqRel);
        if !inner.has_spare.load(Ordering::Relaxed) {
            let has_spare = spare::hold(&inner.path);
            inner.has_spare.store(has_spare, Ordering::Relaxed);
        }
        Ok(self.flushed_applied())
    }

    /// Whether the disk has room for a flush of what is in memory, and as much again.
    pub fn has_room(&self) -> bool {
        spare::free_bytes(&self.inner.path) > self.memtable_bytes().saturating_mul(2)
    }

    /// Whether writes are taken: nothing has stopped RocksDB's background work.
    ///
    /// # Errors
    /// Why they are not: [`StoreError::NoSpace`] until a flush has found room, [`StoreError::Io`] or
    /// [`StoreError::Damaged`] until the store is opened anew.
    pub fn check(&self) -> Result<(), StoreError> {
        self.inner.check_background()
    }

    /// Index of the last log record that SST files contain: the log may be released up to here.
    /// A lower bound; [`Store::flush_wait`] brings it up to date.
    pub fn flushed_applied(&self) -> u64 {
        self.inner.flushed.load(Ordering::Acquire)
    }
}

impl Inner {
    /// Memtables that are switched but not yet written.
    pub fn switched(&self) -> Result<u64, StoreError> {
        let mut most = 0;
        for name in FAMILIES {
            most = most.max(self.number(name, properties::NUM_IMMUTABLE_MEM_TABLE)?);
        }
        Ok(most)
    }

    /// The error that stopped RocksDB's background work, if one did: an empty write is refused
    /// with it.
    pub fn check_background(&self) -> Result<(), StoreError> {
        match self.db.write_opt(WriteBatch::default(), &self.write) {
            Ok(()) => Ok(()),
            Err(error) => match self.error(error) {
                StoreError::Stalled => Ok(()),
                error => Err(error),
            },
        }
    }

    /// Makes sure that a flush can open its files: RocksDB takes one that it cannot open for a
    /// broken disk, and writes nothing more before it is opened anew.
    #[allow(
        clippy::disallowed_methods,
        reason = "descriptors are the process's, which no simulated disk has"
    )]
    fn check_descriptors(&self) -> Result<(), StoreError> {
        let open = || File::open(&self.path);
        let spare: Result<Vec<File>, _> = (0..FLUSH_FILES).map(|_| open()).collect();
        match spare {
            Ok(_) => Ok(()),
            Err(_) => Err(StoreError::NoFiles),
        }
    }

    /// A numeric property of a column family.
    pub fn number(&self, name: &str, property: &properties::PropName) -> Result<u64, StoreError> {
        let value = self
            .db
            .property_int_value_cf(family(&self.db, name)?, property)
            .map_err(|error| self.error(error))?;
        Ok(value.unwrap_or(0))
    }
}
