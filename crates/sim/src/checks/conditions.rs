//! A conditional write that was acknowledged had looked at what it expected, as a read does that
//! meets every write acknowledged by as many replicas as it asks for itself.
//!
//! Nothing is asked of what others wrote while it looked: that may be overwritten
//! (`docs/formats.md`, section 11).

use super::fresh::is_older;
use super::key::KeyHistory;
use super::{Broken, meets};
use crate::history::{Expect, Seen, Write};

/// Checks every conditional write of a key.
///
/// # Errors
/// The first whose condition surely did not hold.
pub fn held(key: &KeyHistory) -> Result<(), Broken> {
    for (write, may_be_lost) in &key.writes {
        let Some(at) = write.acknowledged() else {
            continue;
        };
        if *may_be_lost {
            // The one replica that was asked may have been the earlier process of a node.
            continue;
        }
        let seen = match write.expect {
            Some(Expect::Value(id)) => Seen::Value(Some(id)),
            Some(Expect::Absent) => Seen::Nothing,
            Some(Expect::Present) | None => continue,
        };
        let asked = write.from - write.ack.min(write.from) + 1;
        let missed = key.writes.iter().find(|(other, may_be_lost)| {
            !*may_be_lost
                && other.acknowledged().is_some_and(|m| m < write.begun)
                && meets(asked, write.from, other.ack, other.from)
                // No value of a key with conditions ends within the run.
                && is_older(key, seen, (at, 0), other)
        });
        if let Some((missed, _)) = missed {
            return Err(Broken {
                text: told(write, missed),
                place: Some(write.place),
                at: Some(at),
            });
        }
    }
    Ok(())
}

fn told(write: &Write, missed: &Write) -> String {
    format!(
        "write {} was acknowledged on the condition {:?}, older than write {} acknowledged before it began",
        write.id, write.expect, missed.id
    )
}
