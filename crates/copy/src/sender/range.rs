//! Sends a range: pairs in order, in batches.

use super::carrier::Carrier;
use crate::CopyError;
use crate::gate::{HUGE_BYTES, LARGE_BYTES, Permit};
use crate::plan::Range;
use crate::source::database::{handle, read};
use crate::wire::codec::PREFIX_BYTES;
use crate::wire::frame::PAIR_BYTES_MAX;
use crate::wire::message::kind;
use crate::wire::pair::{self, Tally};

/// Pairs are gathered up to this many bytes.
const BATCH_BYTES: usize = 512 << 10;

/// Sends all pairs of `range`; answers what they come to, and the right to hold what is large, when
/// it was needed, for until the receiver has put it on disk.
pub(crate) fn send(
    carrier: &mut Carrier<'_>,
    range: &Range,
) -> Result<(Tally, Option<Permit>), CopyError> {
    let db = &carrier.shared.source.db;
    let family = handle(db, &range.column_family)?;
    let (start, end) = (range.start.as_ref(), range.end.as_ref());
    let mut tally = Tally::default();
    let mut told = tally;
    let mut batch = room();
    let is_large = carrier.shared.source.is_large(range);
    // Large values in blob files show only when they are read, see below.
    let mut permit: Option<Permit> = is_large.then(|| carrier.shared.gate.wait());
    let mut pairs = db.raw_iterator_cf_opt(family, read(start, end, is_large));
    pairs.seek_to_first();
    while let Some((key, value)) = pairs.item() {
        if key.len() + value.len() > PAIR_BYTES_MAX {
            return Err(CopyError::TooLarge {
                column_family: range.column_family.clone(),
                key_bytes: key.len(),
                value_bytes: value.len(),
            });
        }
        if value.len() > LARGE_BYTES && permit.is_none() {
            permit = carrier.shared.gate.try_take();
            if permit.is_none() {
                // Others hold large values: this one is read again when they are through.
                let key = key.to_vec();
                drop(pairs);
                permit = Some(carrier.shared.gate.wait());
                pairs = db.raw_iterator_cf_opt(family, read(start, end, true));
                pairs.seek(&key);
                continue;
            }
        }
        let begin = pair::push(&mut batch, key, value);
        tally.add(&batch[begin..]);
        let is_huge = value.len() > HUGE_BYTES;
        let last = is_huge.then(|| key.to_vec());
        if batch.len() >= BATCH_BYTES {
            if is_huge {
                // The block it came out of would be a second copy while the first is sent.
                drop(pairs);
                pairs = db.raw_iterator_cf_opt(family, read(start, end, true));
            }
            let full = std::mem::replace(&mut batch, room());
            carrier.data(
                kind::PAIRS,
                full,
                tally.pairs - told.pairs,
                tally.bytes - told.bytes,
            )?;
            told = tally;
        }
        match last {
            Some(mut behind) => {
                behind.push(0);
                pairs.seek(&behind);
            }
            None => pairs.next(),
        }
    }
    let source = carrier.shared.source_path;
    pairs.status().map_err(|error| {
        let error = CopyError::database(db.path(), &error);
        crate::source::checkpoint::elsewhere(error, source)
    })?;
    if batch.len() > PREFIX_BYTES {
        carrier.data(
            kind::PAIRS,
            batch,
            tally.pairs - told.pairs,
            tally.bytes - told.bytes,
        )?;
    }
    Ok((tally, permit))
}

/// An empty batch: room for the prefix.
fn room() -> Vec<u8> {
    let mut batch = Vec::with_capacity(BATCH_BYTES + (16 << 10));
    batch.resize(PREFIX_BYTES, 0);
    batch
}
