//! A value that is to last for a while is seen until that is over, and never afterwards.
//!
//! That it is seen until then is judged with all else that a read must see (`fresh`); that it is not
//! seen afterwards, here. Clocks are right in such runs.

use super::Broken;
use super::key::KeyHistory;
use crate::history::{Seen, Write};

/// What a node's clock is off by at most, and rounds.
const TOLERANCE_MS: u64 = 50;

/// Whether the value of this write may be over at `at_ms` after the run's beginning.
pub fn may_have_ended(write: &Write, at_ms: u64) -> bool {
    // The first attempt's life is over first.
    let ends_ms = write.ends_in_ms.map(|ms| write.begun_ms + ms);
    ends_ms.is_some_and(|ends_ms| at_ms + TOLERANCE_MS >= ends_ms)
}

/// Whether it is over by then, whichever of its attempts made it.
fn has_ended(write: &Write, at_ms: u64) -> bool {
    let (Some(ms), Some((_, ended_ms, _))) = (write.ends_in_ms, &write.ended) else {
        return false;
    };
    write.acknowledged().is_some() && at_ms > ended_ms + ms + TOLERANCE_MS
}

/// Checks every read of a key.
///
/// # Errors
/// The first that saw a value whose time had been over when it began.
pub fn ended(key: &KeyHistory) -> Result<(), Broken> {
    for read in &key.reads {
        let Seen::Value(Some(id)) = read.seen else {
            continue;
        };
        let mut writes = key.writes.iter().map(|(write, _)| write);
        let Some(write) = writes.find(|write| write.id == id) else {
            continue;
        };
        if has_ended(write, read.begun_ms) {
            return Err(Broken {
                text: format!(
                    "a read through n{} begun at {} ms with ack={} from={} saw write {}, whose time had been over",
                    read.host + 1,
                    read.begun_ms,
                    read.ack,
                    read.from,
                    write.id,
                ),
                place: Some(read.place),
                at: Some(read.ended),
            });
        }
    }
    Ok(())
}
