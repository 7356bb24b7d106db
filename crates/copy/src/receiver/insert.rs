//! Pairs into a database's memtable, without waiting for ever for a disk that stays full.

use std::time::{Duration, Instant};

use rocksdb::{DB, ErrorKind, WriteBatch, WriteOptions, properties};

use crate::CopyError;

/// Between two attempts at a write that RocksDB holds up.
const PAUSE: Duration = Duration::from_millis(2);
/// RocksDB goes on by itself when a full disk has room again, and until then holds writes up without
/// a word. What it could not write for so long counts as a full disk.
const FULL_AFTER: Duration = Duration::from_secs(3);

/// Writes a batch. Memory for a second copy of it is spent unless it `is_large`.
pub(crate) fn insert(db: &DB, batch: WriteBatch, is_large: bool) -> Result<(), CopyError> {
    let mut options = WriteOptions::default();
    options.disable_wal(true);
    let failed = |error: rocksdb::Error| CopyError::database(db.path(), &error);
    let mut patience = Patience::default();
    if is_large {
        while number(db, properties::IS_WRITE_STOPPED) > 0 {
            patience.pause(db)?;
        }
        return db.write_opt(batch, &options).map_err(failed);
    }
    options.set_no_slowdown(true);
    let data = batch.data().to_vec();
    let mut next = batch;
    loop {
        match db.write_opt(next, &options) {
            Err(error) if error.kind() == ErrorKind::Incomplete => patience.pause(db)?,
            written => return written.map_err(failed),
        }
        next = WriteBatch::from_data(&data);
    }
}

#[derive(Default)]
struct Patience {
    since: Option<Instant>,
}

impl Patience {
    fn pause(&mut self, db: &DB) -> Result<(), CopyError> {
        let since = *self.since.get_or_insert_with(Instant::now);
        let failed = number(db, properties::BACKGROUND_ERRORS) > 0;
        if failed && since.elapsed() >= FULL_AFTER {
            return Err(CopyError::NoSpace {
                path: db.path().to_path_buf(),
            });
        }
        std::thread::sleep(PAUSE);
        Ok(())
    }
}

fn number(db: &DB, property: &properties::PropName) -> u64 {
    db.property_int_value(property).ok().flatten().unwrap_or(0)
}
