//! Reads that must meet a replica of an acknowledged write never see anything older.

use dunlin_store::Stamp;

use super::{Broken, may_be_buried, may_be_hidden, meets};
use crate::history::{Ended, History, Read, Seen, Write};
use crate::plan::Plan;

/// Checks every read of the run.
///
/// # Errors
/// The first read that saw something older than it must, or something that was never written.
pub fn fresh(plan: &Plan, history: &History) -> Result<(), Broken> {
    for read in &history.reads {
        written(history, read)?;
        if plan.is_durable(read.place.0) {
            not_older(plan, history, read)?;
        }
    }
    Ok(())
}

/// What was read was written: by a write to this key that had begun, and that did not fail for sure.
fn written(history: &History, read: &Read) -> Result<(), Broken> {
    let broken = |text: String| {
        Err(Broken {
            text,
            place: Some(read.place),
            at: Some(read.ended),
        })
    };
    let Seen::Value(_, id) = read.seen else {
        return Ok(());
    };
    let write = id.and_then(|id| history.writes.get(id as usize));
    let Some(write) = write else {
        return broken(format!(
            "a read by n{} at {} ms saw a value nobody wrote",
            read.host + 1,
            read.ended_ms
        ));
    };
    if write.place != read.place || write.begun > read.ended || write.delete {
        return broken(format!(
            "a read by n{} at {} ms saw the value of write {}, which does not belong there",
            read.host + 1,
            read.ended_ms,
            write.id
        ));
    }
    if matches!(write.ended, Some((_, _, Ended::ConditionFailed))) {
        return broken(format!(
            "a read by n{} at {} ms saw write {}, whose condition did not hold",
            read.host + 1,
            read.ended_ms,
            write.id
        ));
    }
    Ok(())
}

fn not_older(plan: &Plan, history: &History, read: &Read) -> Result<(), Broken> {
    let required = history
        .writes
        .iter()
        .filter(|w| w.place == read.place)
        .filter(|w| w.acknowledged().is_some_and(|moment| moment < read.begun))
        .filter(|w| meets(read.ack, read.from, w.ack, w.from))
        .filter(|w| !may_be_hidden(plan, history, w) && !may_be_buried(plan, w))
        .filter_map(|w| w.stamp().map(|stamp| (stamp, w)))
        .max_by_key(|(stamp, _)| *stamp);
    let Some((stamp, write)) = required else {
        return Ok(());
    };
    let fine = match read.seen {
        Seen::Value(seen, _) => seen >= stamp,
        // One delete may be forgotten sooner than another.
        Seen::Deleted(seen) => seen >= stamp || write.delete && plan.forgets_deletes(read.place.0),
        Seen::Absent => {
            write.delete && plan.forgets_deletes(read.place.0)
                || newer_delete(plan, history, read, stamp)
        }
        Seen::Hidden => write.delete || newer_delete(plan, history, read, stamp),
    };
    if fine {
        return Ok(());
    }
    Err(Broken {
        text: format!(
            "a {} by n{} at {} ms with ack={} from={} saw {:?}, older than write {} acknowledged before it began",
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
    })
}

/// Whether a delete that may be newer than `stamp` explains that there is nothing.
fn newer_delete(plan: &Plan, history: &History, read: &Read, stamp: Stamp) -> bool {
    let may_be_newer = |w: &Write| w.stamp().is_none_or(|own| own > stamp);
    (read.seen == Seen::Hidden || plan.forgets_deletes(read.place.0))
        && history
            .writes
            .iter()
            .any(|w| w.place == read.place && w.delete && w.begun < read.ended && may_be_newer(w))
}
