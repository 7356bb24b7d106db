//! What a database holds between two keys.

use rocksdb::DB;

use crate::CopyError;
use crate::gate::{Gate, LARGE_BYTES, Permit};
use crate::source::database::{handle, read};
use crate::wire::message::DigestRequest;
use crate::wire::pair::{self, Tally};

/// Reads a stretch of a column family; `seen` hears of pairs and bytes now and then. Large values
/// are in memory one at a time, as far as all who read wait at the same `gate`: whoever knows that
/// there are some gives a `permit`, else it is taken with the first.
pub(crate) fn digest(
    db: &DB,
    range: &DigestRequest,
    gate: &Gate,
    permit: &mut Option<Permit>,
    mut seen: impl FnMut(u64, u64) -> Result<(), CopyError>,
) -> Result<Tally, CopyError> {
    /// Pairs between two calls of `seen`.
    const STEP: u64 = 1024;
    let mut tally = Tally::default();
    let mut told = tally;
    let mut scratch = Vec::new();
    let family = handle(db, &range.column_family)?;
    let iterator = |is_large| {
        let bounds = read(range.start.as_ref(), range.end.as_ref(), is_large);
        db.raw_iterator_cf_opt(family, bounds)
    };
    let mut pairs = iterator(permit.is_some());
    pairs.seek_to_first();
    while let Some((key, value)) = pairs.item() {
        if value.len() > LARGE_BYTES && permit.is_none() {
            let key = key.to_vec();
            drop(pairs);
            *permit = Some(gate.wait());
            pairs = iterator(true);
            pairs.seek(&key);
            continue;
        }
        let hash = pair::hash(&mut scratch, key, value);
        tally.add_hashed(key.len() + value.len(), hash);
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
