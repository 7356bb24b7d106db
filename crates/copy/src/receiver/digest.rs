//! What a database holds between two keys.

use rocksdb::DB;

use crate::CopyError;
use crate::plan::Key;
use crate::source::database::{handle, read};
use crate::wire::pair::{self, Tally};

/// Reads a stretch of a column family; `seen` hears of pairs and bytes now and then.
pub(crate) fn digest(
    db: &DB,
    column_family: &str,
    start: Option<&Key>,
    end: Option<&Key>,
    mut seen: impl FnMut(u64, u64) -> Result<(), CopyError>,
) -> Result<Tally, CopyError> {
    /// Pairs between two calls of `seen`.
    const STEP: u64 = 1024;
    let mut tally = Tally::default();
    let mut told = tally;
    let mut buffer = Vec::new();
    let family = handle(db, column_family)?;
    let mut pairs = db.raw_iterator_cf_opt(family, read(start, end, false));
    pairs.seek_to_first();
    while let Some((key, value)) = pairs.item() {
        buffer.clear();
        pair::push(&mut buffer, key, value);
        tally.add(&buffer);
        if tally.pairs.is_multiple_of(STEP) {
            seen(tally.pairs - told.pairs, tally.bytes - told.bytes)?;
            told = tally;
        }
        pairs.next();
    }
    let read = pairs.status();
    read.map_err(|error| CopyError::database(db.path(), &error))?;
    seen(tally.pairs - told.pairs, tally.bytes - told.bytes)?;
    Ok(tally)
}

/// Opens a whole database to be read.
pub(crate) fn open(path: &std::path::Path) -> Result<DB, CopyError> {
    let failed = |error: rocksdb::Error| CopyError::database(path, &error);
    let (options, _) = crate::source::database::options();
    crate::source::directory::list(path)?;
    let names = DB::list_cf(&options, path).map_err(failed)?;
    DB::open_cf_for_read_only(&options, path, names, false).map_err(failed)
}
