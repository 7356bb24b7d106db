//! What is read was written: by a write to that key that had begun, and that was not refused for sure.

use super::Broken;
use super::key::KeyHistory;
use crate::history::{History, Read, Seen};

/// Checks every value that was read.
///
/// # Errors
/// The first that nobody wrote there.
pub fn written(history: &History, key: &KeyHistory) -> Result<(), Broken> {
    for read in &key.reads {
        if let Seen::Value(id) = read.seen
            && let Some(what) = strange(history, read, id)
        {
            return Err(Broken {
                text: format!(
                    "a read through n{} at {} ms saw {what}",
                    read.host + 1,
                    read.ended_ms
                ),
                place: Some(read.place),
                at: Some(read.ended),
            });
        }
    }
    Ok(())
}

fn strange(history: &History, read: &Read, id: Option<u64>) -> Option<String> {
    let Some(write) = id.and_then(|id| history.writes.get(id as usize)) else {
        return Some("a value nobody wrote".into());
    };
    if write.place != read.place || write.begun > read.ended || write.delete {
        return Some(format!(
            "the value of write {}, which does not belong there",
            write.id
        ));
    }
    write
        .is_refused()
        .then(|| format!("write {}, which was refused", write.id))
}
