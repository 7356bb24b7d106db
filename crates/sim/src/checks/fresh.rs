//! A read that must meet a replica of an acknowledged write never sees what is surely older.
//!
//! One write is *surely older* than another when it had been acknowledged before the other began, to
//! replicas that meet the other's: then the other was put above it. What the run's stamps say is
//! not asked.

use super::ended::may_have_ended;
use super::key::KeyHistory;
use super::{Broken, Checked, meets};
use crate::history::{History, Moment, Seen, Write};

/// Checks every read of a key.
///
/// # Errors
/// The first read that saw something older than it must.
pub fn fresh(history: &History, key: &KeyHistory) -> Result<Checked, Broken> {
    let mut checked = Checked::default();
    for read in &key.reads {
        checked.reads += 1;
        let mut is_exempt = false;
        for (write, may_be_lost) in &key.writes {
            let met = write
                .acknowledged()
                .is_some_and(|moment| moment < read.begun)
                && meets(read.ack, read.from, write.ack, write.from);
            let until = (read.ended, read.ended_ms);
            if !met || !is_older(key, read.seen, until, write) {
                continue;
            }
            // One replica's word is asked for, and this one may not know yet that another process
            // has its name (decision 23).
            let is_earlier = read.ack == 1 && history.is_earlier(read.ended_ms, read.host);
            // Who started with a wrong clock and reaches nobody trusts it (decision 24).
            let is_years_ahead = read.ack == 1
                && write.expires
                && read.seen == Seen::Nothing
                && history.is_years_ahead(read.ended_ms, read.host);
            if *may_be_lost || is_earlier || is_years_ahead {
                is_exempt = true;
                continue;
            }
            return Err(Broken {
                text: format!(
                    "a {} through n{} at {} ms with ack={} from={} saw {:?}, older than write {} acknowledged before it began",
                    if read.scan { "scan" } else { "read" },
                    read.host + 1,
                    read.ended_ms,
                    read.ack,
                    read.from,
                    read.seen,
                    write.id,
                ),
                place: Some(read.place),
                at: Some(read.ended),
            });
        }
        checked.exempt += u64::from(is_exempt);
    }
    Ok(checked)
}

/// Whether what was seen up to some moment, which is that many milliseconds after the run's beginning,
/// is surely older than `write`.
pub fn is_older(
    key: &KeyHistory,
    seen: Seen,
    (until, until_ms): (Moment, u64),
    write: &Write,
) -> bool {
    match seen {
        Seen::Value(Some(id)) if id == write.id => false,
        Seen::Value(id) => key
            .writes
            .iter()
            .any(|(other, _)| Some(other.id) == id && surely_older(other, write)),
        Seen::Nothing if write.delete => false,
        // Unless a delete came later, or may have, or what was put then may have ended by itself.
        Seen::Nothing => !key.writes.iter().any(|(other, _)| {
            (other.delete || may_have_ended(other, until_ms))
                && other.begun < until
                && !other.is_refused()
                && !surely_older(other, write)
        }),
    }
}

fn surely_older(older: &Write, newer: &Write) -> bool {
    older
        .acknowledged()
        .is_some_and(|moment| moment < newer.begun)
        && meets(newer.ack, newer.from, older.ack, older.from)
}
